/* Notify: tells systemd (Type=notify) how the service is, without linking libsystemd. */
#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

/* "READY=1", "STOPPING=1". Does nothing without a service manager that asked for it. */
void notify_manager(const char *state);

#endif
