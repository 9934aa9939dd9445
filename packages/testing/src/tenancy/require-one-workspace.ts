import { loadModule, parse } from 'libpg-query'
import { checkStatement } from './check-statement.ts'
import { acrossWorkspaces } from './cross-workspace-statements.ts'
import type { RecordedStatement } from './record-statements-patch.ts'
import { tables } from './tables.ts'

/** Throws if a statement locks rows of several workspaces, or crosses workspaces and its sender is not on the list. */
export async function requireOneWorkspace(statements: readonly RecordedStatement[]): Promise<void> {
  await loadModule()
  const findings = await Promise.all(statements.map(describeFindings))
  const list = findings.flat()
  if (list.length === 0) return
  throw new Error(
    'Statements have to name the workspace of every distributed table, in each sub-select too. Those that must cross ' +
      `workspaces are listed in packages/testing/src/tenancy/cross-workspace-statements.ts:\n\n${list.join('\n\n')}`,
  )
}

async function describeFindings({ text, sender }: RecordedStatement): Promise<string[]> {
  const { stmts = [] } = await parse(text)
  const findings = stmts
    .flatMap(({ stmt }) => (stmt ? checkStatement(stmt, tables) : []))
    .filter(({ kind }) => kind === 'lock' || !(sender in acrossWorkspaces))
  return findings.length === 0 ? [] : [`${sender}: ${findings.map(({ message }) => message).join('; ')}\n${text}`]
}
