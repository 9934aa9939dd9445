/** The command line of Rapport, which reads the environment of the API. */
import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'

const { RAPPORT: program = resolve(import.meta.dirname, '../../../bin/rapport') } = process.env

/** Runs a command with `--json`, and returns its result. What it says beside goes to standard error. */
export function rapport(...words: string[]): unknown {
  const output = execFileSync(program, [...words, '--json'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  return JSON.parse(output)
}
