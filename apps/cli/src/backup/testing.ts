/** Helpers for the tests of backups. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CommandDefinition } from '../command.ts'
import { backup } from '../commands/backup.ts'
import { restore } from '../commands/restore.ts'
import { describeError, exitCodeOf } from '../describe-error.ts'
import { startInProcess, unreachableEnvironment } from '../testing.ts'

export const backupKey = Buffer.alloc(32, 7).toString('base64')

export interface Outcome {
  /** What the command printed to standard output, or null if it failed. */
  printed: string | null
  logged: string
  /** What main.ts would print. */
  error: string | null
  exitCode: number
}

async function run(command: CommandDefinition, options: Record<string, unknown>, environment: Record<string, string>) {
  const started = startInProcess(command, options, { environment: { ...unreachableEnvironment, ...environment } })
  const outcome = (error: string | null, exitCode: number): Outcome => ({
    printed: error === null ? started.printed.join('\n') : null,
    logged: started.logged.join('\n'),
    error,
    exitCode,
  })
  return started.code.then(
    (exitCode) => outcome(null, exitCode),
    (error: unknown) => outcome(describeError(error), exitCodeOf(error)),
  )
}

/** A folder of backups, and the commands that use it. */
export function openBackupFolder(environment: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'rapport-backups-'))
  return {
    folder,
    list: () => readdirSync(folder).toSorted(),
    backUp: (
      options: { verify?: boolean; 'keep-days'?: number; directory?: string | undefined; json?: boolean } = {},
      more: Record<string, string> = {},
    ) => run(backup, { directory: folder, verify: false, json: false, ...options }, { ...environment, ...more }),
    restore: (file: string, options: { into?: string; replace?: boolean } = {}, more: Record<string, string> = {}) =>
      run(restore, { file, replace: false, json: true, ...options }, { ...environment, ...more }),
    close: () => rmSync(folder, { recursive: true }),
  }
}
export type BackupFolder = ReturnType<typeof openBackupFolder>

/** Runs `work` with a PATH on which a shell script takes the place of a client program. */
export async function withProgram<Result>(
  { name, script, path }: { name: string; script: string; path: string },
  work: (path: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'rapport-programs-'))
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  try {
    return await work(`${folder}:${path}`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
