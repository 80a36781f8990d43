"""Builds container images without a container engine, from pinned Debian packages and Python wheels.

The same inputs give the same bytes: of what is downloaded only content that a lock names by its hash goes in,
and no clock, user, folder name or file time of this machine does.

    table (what each image is)  ->  fetch (downloads, checked)
    deb, wheel, sources         ->  entries of a file tree
    compose                     ->  layers, each with what it is made of
    sbom, archive               ->  bytes
    write                       ->  the only module that writes what is built; lock writes the lock

It needs nothing but Python, so that the Dockerfile beside it can run it in a bare one.
"""
