/** What tests of the command line begin with. */
import type { LocalInstance } from '@rapport/core/runtime/local-instance.ts'
import { expect } from 'vitest'
import type { Command } from './command.ts'
import { doctor } from './commands/doctor.ts'
import type { Finding } from './doctor/finding.ts'
import type { Terminal } from './terminal.ts'

/** What `start` runs on this machine is none of a test's business: as DATA_DIR this hides it. */
export const nowhere = '/nonexistent'

/** An environment of which every variable is usable, though nothing answers there. */
export const deadEnvironment = {
  DATA_DIR: nowhere,
  DATABASE_URL: 'postgres://127.0.0.1:1/none',
  SMTP_URL: 'smtp://127.0.0.1:1',
  PUBLIC_URL: 'http://127.0.0.1:1',
  SECRET_KEY: 'V2hvIHJlYWRzIHRoaXMgaGFzIGdvb2QgZXllcw==',
  MAIL_FROM: 'letters@news.example.com',
}

/** Starts a command in this process. */
export function startCommandHere(
  command: Command,
  options: Record<string, unknown>,
  { local, environment = {} }: { local?: LocalInstance; environment?: Record<string, string> } = {},
) {
  const printed: string[] = []
  const told: string[] = []
  const terminal: Terminal = {
    print: (text) => void printed.push(text),
    tell: (text) => void told.push(text),
    showProgress: () => {},
    redraw: (screen) => void printed.push(screen),
    style: (_style, text) => text,
  }
  const stopping = new AbortController()
  const code = command.run({ terminal, environment, local, stopping: stopping.signal }, options)
  /** `stop` is Ctrl-C. */
  return { printed, told, code, stop: () => stopping.abort() }
}

/** Answers what the doctor says of one thing, as "level: message" each. */
export async function runDoctor(env: Record<string, string>, dnsServer?: string) {
  const options = { json: true, 'dns-server': dnsServer }
  const { printed, code } = startCommandHere(doctor, options, { environment: { ...deadEnvironment, ...env } })
  const exitCode = await code
  return readFindings(printed.join('\n'), exitCode)
}

/** The same of what it has printed as JSON. */
export function readFindings(json: string, code: number | null) {
  const { findings } = JSON.parse(json) as { findings: Finding[] }
  expect(code).toBe(findings.some(({ level }) => level === 'fail') ? 1 : 0)
  for (const { level, advice } of findings) expect(advice ?? '').toMatch(level === 'ok' ? /^$/ : /\w/)
  return (about: string) =>
    findings.filter((finding) => finding.about === about).map(({ level, message }) => `${level}: ${message}`)
}

/** As many as there are parts, each with its part in it. */
export const containing = (...parts: string[]) => parts.map((part) => expect.stringContaining(part) as string)
