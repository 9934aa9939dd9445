import type { ApiConfig, WorkerConfig } from '@rapport/core/runtime/config.ts'
import type { Database } from '@rapport/core/db/client.ts'
import { isDatabaseUnavailable } from '@rapport/core/kernel/errors.ts'
import { hasPendingMigrations } from '@rapport/core/db/migrate.ts'
import { TimeoutError, withTimeout } from '@rapport/core/kernel/with-timeout.ts'

/** What a check found of one thing. All but "ok" says what to do. */
export interface Finding {
  level: 'ok' | 'warn' | 'fail'
  about: string
  message: string
  advice?: string
}

/** What checks look at. What the environment does not say, or says wrongly, is not there. */
export interface Patient {
  config: Partial<ApiConfig & WorkerConfig>
  database: Database | undefined
  dnsServers: readonly string[] | undefined
}

export interface Check {
  about: string
  /** What it throws is a finding too. */
  run(patient: Patient): Promise<Finding[]>
}

const timeoutMs = 3_000

/** Findings about one thing. */
export function findingsAbout(about: string) {
  return {
    ok: (message: string): Finding => ({ level: 'ok', about, message }),
    warn: (message: string, advice: string): Finding => ({ level: 'warn', about, message, advice }),
    fail: (message: string, advice: string): Finding => ({ level: 'fail', about, message, advice }),
  }
}

/** Every check at once, each with its own three seconds; one that takes longer, or breaks, keeps none of the others. */
export async function examine(patient: Patient, checks: readonly Check[]): Promise<Finding[]> {
  const findings = await Promise.all(checks.map((check) => runCheck(check, patient)))
  return findings.flat()
}

async function runCheck(check: Check, patient: Patient): Promise<Finding[]> {
  const { fail } = findingsAbout(check.about)
  const found = check.run(patient).catch(async (error: unknown) => [await explain(check, patient, error)])
  return withTimeout(found, timeoutMs).catch((error: unknown) => {
    if (!(error instanceof TimeoutError)) throw error
    const seconds = timeoutMs / 1_000
    return [fail(`no answer within ${seconds} seconds`, 'See whether it runs, and whether a firewall is between.')]
  })
}

/** Why a check broke off. What the check of the database says itself is no failure of the others. */
async function explain({ about }: Check, { database }: Patient, error: unknown): Promise<Finding> {
  const { fail, warn } = findingsAbout(about)
  if (isDatabaseUnavailable(error)) return warn('not known, as PostgreSQL is away', 'Get PostgreSQL back first.')
  const isBehind = database !== undefined && (await hasPendingMigrations(database.db).catch(() => false))
  if (isBehind) return warn('not known, as migrations are pending', 'Run "pnpm migrate" first.')
  return fail(messageOf(error), 'This is how the check itself broke off.')
}

export function messageOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (cause instanceof AggregateError) return cause.errors.map(messageOf).join(', ')
  return cause instanceof Error ? cause.message : String(cause)
}
