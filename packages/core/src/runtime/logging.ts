import { type Logger, type LoggerOptions, pino } from 'pino'
import { withoutParameters } from '../kernel/errors.ts'

/** The log of a program, on stdout: one line of JSON each, or a readable one where a person watches in a terminal. */
export async function openLog(name: string, loggerOptions: LoggerOptions): Promise<Logger> {
  const options = { name, serializers: { err: serializeError }, ...loggerOptions }
  if (!process.stdout.isTTY) return pino(options)
  const { build } = await import('pino-pretty')
  return pino(options, build({ ignore: 'pid,hostname', sync: true }))
}

const serializeError = (error: Error) => pino.stdSerializers.err(withoutParameters(error) as Error)

/** Every connection reports the same outage, again and again: one line in ten seconds will do. */
export function errorLogger(log: { warn(details: object, message: string): void }, message: string) {
  let mutedUntil = 0
  return (error: Error) => {
    if (Date.now() < mutedUntil) return
    mutedUntil = Date.now() + 10_000
    log.warn({ err: error }, message)
  }
}
