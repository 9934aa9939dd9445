import { execFile } from 'node:child_process'

/**
 * Reports to the process manager that this process is ready: to pm2 with an IPC message, to systemd with
 * `systemd-notify`, because Node cannot open Unix datagram sockets. Without a process manager it does nothing.
 */
export function announceReady(notifySocket: string | undefined, onError: (error: Error) => void): void {
  // The callback ignores the error of a parent process that has exited.
  process.send?.('ready', undefined, undefined, () => {})
  if (notifySocket === undefined) return
  execFile('systemd-notify', ['--ready'], (error) => error && onError(error))
}
