import { loadModule, parse } from 'libpg-query'
import { checkStatement, type Finding } from './check-statement.ts'
import { acrossWorkspaces } from './cross-workspace-statements.ts'
import type { RecordedStatement } from './record-statements-patch.ts'
import { tables } from './tables.ts'

/** Throws if a statement has a shape that Citus refuses, or crosses workspaces and its sender is not on the list. */
export async function requireOneWorkspace(statements: readonly RecordedStatement[]): Promise<void> {
  await loadModule()
  const findings = await Promise.all(statements.map(describeFindings))
  const list = findings.flat()
  if (list.length === 0) return
  throw new Error(
    'Statements have to name the workspace of every distributed table, in each sub-select too, and must not have a shape ' +
      'of packages/testing/src/tenancy/refused-shapes.ts. Those that must cross workspaces are listed in ' +
      `packages/testing/src/tenancy/cross-workspace-statements.ts:\n\n${list.join('\n\n')}`,
  )
}

/** Names the shapes of a statement that Citus refuses. `isCounted`: its caller uses the number of rows. */
export async function findRefusedShapes(text: string, options?: { isCounted: boolean }): Promise<string[]> {
  await loadModule()
  const findings = await findProblems(text, options)
  return findings.filter(({ kind }) => kind === 'shape').map(({ message }) => message)
}

async function describeFindings({ text, sender }: RecordedStatement): Promise<string[]> {
  const findings = (await findProblems(text)).filter(({ kind }) => kind === 'shape' || !(sender in acrossWorkspaces))
  return findings.length === 0 ? [] : [`${sender}: ${findings.map(({ message }) => message).join('; ')}\n${text}`]
}

async function findProblems(text: string, options?: { isCounted: boolean }): Promise<Finding[]> {
  const { stmts = [] } = await parse(text)
  return stmts.flatMap(({ stmt }) => (stmt ? checkStatement(stmt, tables, options) : []))
}
