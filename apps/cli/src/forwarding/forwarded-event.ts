/** An event that reached a receiver, or did not, as `listen` shows it. */
import type { CliContext } from '../command.ts'

export interface ForwardedEvent {
  event: { id: string; type: string; timestamp: string }
  /** Null if there was no response; `error` has the reason. */
  status: number | null
  error: string | null
  durationMs: number
}

export const isSuccess = ({ status }: ForwardedEvent): boolean => status !== null && status >= 200 && status < 300

export function showForwarded({ terminal }: CliContext, forwarded: ForwardedEvent, asJson: boolean): void {
  const { event, status, error, durationMs } = forwarded
  const { id, type } = event
  if (asJson) return terminal.print(JSON.stringify({ id, type, status, error, durationMs }))
  const outcome = terminal.style(isSuccess(forwarded) ? 'green' : 'red', String(status ?? error))
  terminal.print(`${event.timestamp}  ${id}  ${type.padEnd(26)}  ${outcome}  ${durationMs} ms`)
}
