import type { ApiConfig, WorkerConfig } from '@rapport/core/runtime/config.ts'
import type { Database } from '@rapport/core/db/client.ts'
import { isDatabaseUnavailable } from '@rapport/core/db/database-errors.ts'
import { hasPendingMigrations } from '@rapport/core/db/migrate.ts'
import { TimeoutError, withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'
import { rootMessageOf } from '@rapport/core/kernel/errors.ts'

/** A result of a check. Findings of the levels "warn" and "fail" have advice. */
export interface Finding {
  level: 'ok' | 'warn' | 'fail'
  about: string
  message: string
  advice?: string
  /** The page that has the rule, of a finding about a receiver of emails. */
  source?: string
}

/** The input of all checks. Variables that are missing or invalid are undefined. */
export interface CheckInput {
  config: Partial<ApiConfig & WorkerConfig>
  /** The names of the invalid variables, which have findings already. */
  invalid: ReadonlySet<string>
  database: Database | undefined
  dnsServers: readonly string[] | undefined
  backupDirectory: string | undefined
}

/** The name servers of `--dns-server` or else `DNS_SERVER`. Undefined: those of the machine. */
export function dnsServersOf({
  dnsServers,
  config: { DNS_SERVER: configured = [] },
}: Pick<CheckInput, 'config' | 'dnsServers'>): readonly string[] | undefined {
  return dnsServers ?? (configured.length > 0 ? configured : undefined)
}

export interface Check {
  about: string
  /** If it throws, the error becomes a finding. */
  run(input: CheckInput): Promise<Finding[]>
}

const timeoutMs = 3_000

/** Returns functions that create findings of one check. */
export function findingsAbout(about: string) {
  return {
    ok: (message: string): Finding => ({ level: 'ok', about, message }),
    warn: (message: string, advice: string): Finding => ({ level: 'warn', about, message, advice }),
    fail: (message: string, advice: string): Finding => ({ level: 'fail', about, message, advice }),
  }
}

/** Runs all checks concurrently, each with its own timeout. A check that fails does not affect the others. */
export async function runChecks(input: CheckInput, checks: readonly Check[]): Promise<Finding[]> {
  const findings = await Promise.all(checks.map((check) => runCheck(check, input)))
  return findings.flat()
}

async function runCheck(check: Check, input: CheckInput): Promise<Finding[]> {
  const { fail } = findingsAbout(check.about)
  const found = check.run(input).catch(async (error: unknown) => [await describeError(check, input, error)])
  return withTimeout(found, timeoutMs).catch((error: unknown) => {
    if (!(error instanceof TimeoutError)) throw error
    const seconds = timeoutMs / 1_000
    return [fail(`no response within ${seconds} seconds`, 'Check that it is running and that no firewall blocks it.')]
  })
}

/** Describes why a check threw. Problems of the database are only warnings here: its own check reports them. */
async function describeError({ about }: Check, { database }: CheckInput, error: unknown): Promise<Finding> {
  const { fail, warn } = findingsAbout(about)
  if (isDatabaseUnavailable(error)) return warn('unknown, because PostgreSQL is unavailable', 'Fix PostgreSQL first.')
  const isBehind = database !== undefined && (await hasPendingMigrations(database.db).catch(() => false))
  if (isBehind) return warn('unknown, because migrations are pending', 'Run "rapport migrate" first.')
  return fail(rootMessageOf(error), 'The check itself failed with this error.')
}
