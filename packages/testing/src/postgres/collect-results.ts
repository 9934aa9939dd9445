/**
 * Collects the columns of the statements that a test file runs. So the statements that are composed for each call are
 * compared with their declarations in every variant that a test has.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { StatementResult } from '@rapport/core/db/statements/named-statement.ts'

/** The variants that were seen in this Vitest worker. */
const seen = new Set<string>()
const collected: StatementResult[] = []

export function collectStatementResults(): void {
  // The name is that of `statementResults`, whose module need not be loaded for every test.
  subscribe('rapport:statement-results', (message) => {
    const result = message as StatementResult
    const variant = [result.name, ...result.fields.flatMap(({ name, dataTypeID }) => [name, dataTypeID])].join()
    if (!seen.has(variant)) collected.push(result)
    seen.add(variant)
  })
}

/** Throws if a statement returned other columns than it declares. */
export async function requireDeclaredColumns(): Promise<void> {
  const results = collected.splice(0)
  if (results.length === 0) return
  const { compareColumns } = await import('./compare-columns.ts')
  const findings = results.flatMap(({ name, columns, fields }) => {
    const returned = fields.map((field) => ({ name: field.name, type: field.dataTypeID }))
    return compareColumns(columns, returned).map((difference) => `${name}: ${difference}`)
  })
  if (findings.length > 0) throw new Error(`Statements differ from their declarations:\n${findings.join('\n')}`)
}
