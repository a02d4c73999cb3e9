"""Language models as services: endpoints, local checkpoints, chat forms, keys and costs."""
