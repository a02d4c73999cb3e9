"""Language models: server endpoints, local checkpoints, chat templates, keys and costs."""
