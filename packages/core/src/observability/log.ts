import { type Logger, type LoggerOptions, pino } from 'pino'

/** The log of a program, on stdout: one line of JSON each, or a readable one where a person watches in a terminal. */
export async function openLog(name: string, options: LoggerOptions): Promise<Logger> {
  if (!process.stdout.isTTY) return pino({ name, ...options })
  const { build } = await import('pino-pretty')
  return pino({ name, ...options }, build({ ignore: 'pid,hostname', sync: true }))
}
