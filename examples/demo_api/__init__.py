"""`make demo-api`: a release is deleted through the API, and stays listed until its pods are gone."""
