/** Helpers for the tests of commands. */
import type { LocalInstance } from '@rapport/core/runtime/local-instance.ts'
import { expect } from 'vitest'
import { type CommandDefinition, exitCodes } from './command.ts'
import { parseCommandLine } from './command-line.ts'
import { commands } from './commands.ts'
import { doctor } from './commands/doctor.ts'
import type { Finding } from './doctor/finding.ts'
import type { Terminal } from './terminal.ts'

/** As DATA_DIR, it hides a local installation of `pnpm start` from the tests. */
export const missingDirectory = '/nonexistent'

/** An environment with valid variables, but without any server that responds. */
export const unreachableEnvironment = {
  DATA_DIR: missingDirectory,
  DATABASE_URL: 'postgres://127.0.0.1:1/none',
  SMTP_URL: 'smtp://127.0.0.1:1',
  PUBLIC_URL: 'http://127.0.0.1:1',
  SECRET_KEY: 'V2hvIHJlYWRzIHRoaXMgaGFzIGdvb2QgZXllcw==',
  MAIL_FROM: 'hello@news.example.com',
}

/** Starts a command in this process. */
export function startInProcess(
  command: CommandDefinition,
  options: Record<string, unknown>,
  { local, environment = {} }: { local?: LocalInstance; environment?: Record<string, string> } = {},
) {
  const printed: string[] = []
  const logged: string[] = []
  const terminal: Terminal = {
    print: (text) => void printed.push(text),
    log: (text) => void logged.push(text),
    showProgress: () => {},
    redraw: (screen) => void printed.push(screen),
    style: (_style, text) => text,
  }
  const stopping = new AbortController()
  const code = command.run({ terminal, environment, local, stopping: stopping.signal }, options)
  /** `stop` has the effect of Ctrl-C. */
  return { printed, logged, code, stop: () => stopping.abort() }
}

/** Runs a command line against a database. Returns what it printed, and rejects unless the exit code is 0. */
export async function runCommandLine(databaseUrl: string, words: string[], environment: Record<string, string> = {}) {
  const parsed = await parseCommandLine(commands, words)
  if ('print' in parsed) throw new Error(parsed.print)
  const { PUBLIC_URL, SECRET_KEY, MAIL_FROM } = unreachableEnvironment
  const { printed, logged, code } = startInProcess(parsed.command, parsed.options, {
    environment: { DATABASE_URL: databaseUrl, PUBLIC_URL, SECRET_KEY, MAIL_FROM, ...environment },
  })
  expect(await code).toBe(exitCodes.success)
  return { stdout: printed.join('\n'), stderr: logged.join('\n') }
}

/** Runs a command line with `--json`. Returns what it printed, parsed. */
export async function runForJson(databaseUrl: string, words: string[]): Promise<unknown> {
  return JSON.parse((await runCommandLine(databaseUrl, [...words, '--json'])).stdout)
}

/** Runs the doctor. Returns a function that lists the findings of a check as "level: message". */
export async function runDoctor(env: Record<string, string>, dnsServer?: string) {
  const options = { json: true, 'dns-server': dnsServer }
  const { printed, code } = startInProcess(doctor, options, { environment: { ...unreachableEnvironment, ...env } })
  const exitCode = await code
  return readFindings(printed.join('\n'), exitCode)
}

/** Like `runDoctor`, for JSON that the doctor has already printed. */
export function readFindings(json: string, code: number | null) {
  const { findings } = JSON.parse(json) as { findings: Finding[] }
  expect(code).toBe(findings.some(({ level }) => level === 'fail') ? 1 : 0)
  for (const { level, advice } of findings) expect(advice ?? '').toMatch(level === 'ok' ? /^$/ : /\w/)
  return (about: string) =>
    findings.filter((finding) => finding.about === about).map(({ level, message }) => `${level}: ${message}`)
}

/** Matches an array of strings, each of which contains the part at its position. */
export const containing = (...parts: string[]) => parts.map((part) => expect.stringContaining(part) as string)
