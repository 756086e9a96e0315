"""One small module per peer and topic: the only places that know a peer's names."""
