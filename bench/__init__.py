"""Side by side with the peers, in one run, as ratios: `python -m bench noise`."""
