"""The devices that candidates are judged on: one backend per kind, and how fast each is at all."""
