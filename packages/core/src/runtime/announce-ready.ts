import { execFile } from 'node:child_process'

/**
 * Tells whoever started this program that it is ready: pm2 by a message, systemd by its own helper, as Node has no
 * sockets of the kind that systemd listens on. Whoever did not ask is not told.
 */
export function announceReady(notifySocket: string | undefined, onError: (error: Error) => void): void {
  // A parent that has gone does not hear it, and need not.
  process.send?.('ready', undefined, undefined, () => {})
  if (notifySocket === undefined) return
  execFile('systemd-notify', ['--ready'], (error) => error && onError(error))
}
