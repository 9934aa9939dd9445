import { type Logger, type LoggerOptions, pino } from 'pino'
import { withoutParameters } from '../kernel/errors.ts'

/** Opens the log of a process, on stdout: JSON lines, or readable text if stdout is a terminal. */
export async function openLog(name: string, loggerOptions: LoggerOptions): Promise<Logger> {
  const options = { name, serializers: { err: serializeError }, ...loggerOptions }
  if (!process.stdout.isTTY) return pino(options)
  const { build } = await import('pino-pretty')
  return pino(options, build({ ignore: 'pid,hostname', sync: true }))
}

/** Without the connection that pg-pool adds to an error, with the key that cancels its statements. */
export function serializeError(error: Error): object {
  const { client: _, ...shown } = pino.stdSerializers.err(withoutParameters(error) as Error)
  return shown
}

/** Logs at most one error every ten seconds: during an outage every connection reports the same error repeatedly. */
export function errorLogger(log: { warn(details: object, message: string): void }, message: string) {
  let mutedUntil = 0
  return (error: Error) => {
    if (Date.now() < mutedUntil) return
    mutedUntil = Date.now() + 10_000
    log.warn({ err: error }, message)
  }
}
