# require_secure_transport ssl_ca ssl_cert ssl_key tls_version
