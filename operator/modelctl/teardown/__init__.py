"""An InferenceCluster on its way down: `tree` draws what is left (pure), `deletion` asks and watches."""
