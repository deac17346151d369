from .app import create_app as create_app
from .limits import Limits as Limits
from .service import Service as Service
