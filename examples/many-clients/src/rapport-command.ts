/** The command line of Rapport, which reads the environment of the API. */
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'

const { RAPPORT: program = resolve(import.meta.dirname, '../../../bin/rapport') } = process.env

/** Enough for the figures of 100,000 workspaces. */
const maxBuffer = 2 ** 26

/** Runs a command with `--json`, and returns its result. Its hints for people, on standard error, are not shown. */
export function rapport(...words: string[]): unknown {
  const { error, status, stdout, stderr } = spawnSync(program, [...words, '--json'], { encoding: 'utf8', maxBuffer })
  if (error) throw error
  if (status === 0) return JSON.parse(stdout)
  const [lastLine] = stderr.trimEnd().split('\n').slice(-1)
  throw new Error(`rapport ${words.join(' ')}: ${lastLine}`)
}
