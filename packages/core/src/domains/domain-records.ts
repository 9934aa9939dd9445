/** The records that a domain needs, and what the checks of its records say about it. */
import type { domains, RecordCheck } from '../db/schema/index.ts'
import type { Settings } from '../request/context.ts'
import { publishedKeys } from './domain-keys.ts'
import { returnPathHost } from './domain-name.ts'
import type { Domain, DomainRecord } from './domains.schema.ts'

export type DomainRow = typeof domains.$inferSelect
/** A record to publish. Name and value identify it. */
export type ExpectedRecord = Pick<DomainRecord, 'purpose' | 'type' | 'name' | 'value'>
/** `UNKNOWN`: DNS did not respond, so the result before still holds. */
export type CheckResult = Pick<ExpectedRecord, 'name' | 'value'> & {
  status: RecordCheck['status'] | 'UNKNOWN'
  problem: string | null
}

type RecordSettings = Pick<Settings, 'returnPathDomain' | 'publicUrl'>

/** The records to publish. The first one is that of the key that signs. */
export function recordsOf(
  { name, keys, host }: Pick<DomainRow, 'name' | 'keys' | 'host'>,
  settings: RecordSettings,
): ExpectedRecord[] {
  const { returnPathDomain, publicUrl } = settings
  return [
    ...publishedKeys(keys).map(({ selector, publicKey }) => ({
      purpose: 'DKIM' as const,
      type: 'TXT' as const,
      name: `${selector}._domainkey.${name}`,
      value: `v=DKIM1; k=rsa; p=${publicKey}`,
    })),
    ...(returnPathDomain === undefined
      ? []
      : [
          {
            purpose: 'RETURN_PATH' as const,
            type: 'CNAME' as const,
            name: returnPathHost(name),
            value: returnPathDomain,
          },
        ]),
    { purpose: 'DMARC', type: 'TXT', name: `_dmarc.${name}`, value: 'v=DMARC1; p=none' },
    ...(host === null
      ? []
      : [{ purpose: 'HOST' as const, type: 'CNAME' as const, name: host, value: new URL(publicUrl).hostname }]),
  ]
}

export function findCheck<Check extends Pick<RecordCheck, 'name' | 'value'>>(
  checks: readonly Check[],
  { name, value }: Pick<ExpectedRecord, 'name' | 'value'>,
): Check | undefined {
  return checks.find((check) => check.name === name && check.value === value)
}

/** The status and the checks of a domain after its records were checked. */
export function applyResults(
  row: DomainRow,
  results: readonly CheckResult[],
  settings: RecordSettings,
): Pick<DomainRow, 'status' | 'checks'> {
  const records = recordsOf(row, settings)
  const checks = records.map((record) => toCheck(findCheck(row.checks, record), findCheck(results, record), record))
  const [signing] = records.map((record) => findCheck(results, record))
  return { status: decideStatus(row.status, signing), checks }
}

function toCheck(
  former: RecordCheck | undefined,
  result: CheckResult | undefined,
  { name, value, purpose }: ExpectedRecord,
): RecordCheck {
  if (result === undefined) return former ?? { name, value, status: 'PENDING', problem: null }
  const { problem } = result
  if (result.status !== 'UNKNOWN') return { name, value, status: result.status, problem }
  const { status = 'PENDING', problem: formerProblem = null } = former ?? {}
  // A host that no name server finds twice in turn is where no reader gets: links are at the installation meanwhile.
  const isLost = purpose === 'HOST' && formerProblem !== null
  return { name, value, status: isLost && status === 'VERIFIED' ? 'FAILED' : status, problem }
}

/** A domain that was never VERIFIED stays PENDING: its records may not have reached every name server yet. */
function decideStatus(current: DomainRow['status'], signing: CheckResult | undefined): DomainRow['status'] {
  if (signing === undefined || signing.status === 'UNKNOWN') return current
  if (signing.status === 'VERIFIED') return 'VERIFIED'
  return current === 'PENDING' ? 'PENDING' : 'FAILED'
}

/** Whether new links are under the host of a domain. */
export function isHostVerified(row: DomainRow, settings: RecordSettings): boolean {
  const record = recordsOf(row, settings).find(({ purpose }) => purpose === 'HOST')
  return row.status === 'VERIFIED' && record !== undefined && findCheck(row.checks, record)?.status === 'VERIFIED'
}

export function toDomain(row: DomainRow, settings: RecordSettings): Domain {
  return {
    id: row.id,
    name: row.name,
    host: row.host,
    status: row.status,
    records: recordsOf(row, settings).map((record) => {
      const { status = 'PENDING', problem = null } = findCheck(row.checks, record) ?? {}
      return { ...record, status, problem }
    }),
    checkedAt: row.checkedAt,
    createdAt: row.createdAt,
  }
}
