"""Questions to a service, from Python: `dp.connect(url, key)`.

What is asked here is sent as text and read by the service; nothing is decided on this side but the form.
"""

from dither.web.client.connection import Connection, connect
from dither.web.client.remote_dataset import RemoteDataset, RemoteQuery, RemoteQuestion
from dither.web.client.remote_release import Job, RemotePlan, RemoteRelease

__all__ = [
    "Connection",
    "Job",
    "RemoteDataset",
    "RemotePlan",
    "RemoteQuery",
    "RemoteQuestion",
    "RemoteRelease",
    "connect",
]
