"""The site's settings: those that `wagtail start` makes, with the server that the program is given."""

import os

from .base import *  # pylint: disable=wildcard-import

SECRET_KEY = "of this program"
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["blog", "wagtail.contrib.settings", *INSTALLED_APPS]
DATABASES = {"default": {
    "ENGINE": "django.db.backends.mysql", "HOST": os.environ["DB_HOST"], "PORT": os.environ["DB_PORT"],
    "USER": os.environ["DB_USER"], "NAME": os.environ["DB_NAME"],
    "OPTIONS": {"charset": "utf8mb4"}, "ATOMIC_REQUESTS": True}}
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
# Wagtail's index for MySQL is FULLTEXT; without it, it searches the columns with LIKE.
MIGRATION_MODULES = {"wagtailsearch": None}
WAGTAILSEARCH_BACKENDS = {"default": {"BACKEND": "wagtail.search.backends.database.fallback"}}
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
USE_TZ = True
