"""Models in folders of config.json and safetensors: ours, and the public families."""
