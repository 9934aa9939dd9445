/** Names what visitors can cause: mails that wait for a budget, and lists that are open without being used. */
import { listUnusedSignups, listWithholdingWorkspaces } from '@rapport/core/operations/overviews/withheld-mails.ts'
import { formatCount } from '../terminal.ts'
import { type Check, findingsAbout } from './finding.ts'

const { ok, warn } = findingsAbout('Visitors')
const maxListed = 5

export const visitorsCheck: Check = {
  about: 'Visitors',
  async run({ database }) {
    if (!database) return []
    const withholding = await listWithholdingWorkspaces(database.db)
    const unused = await listUnusedSignups(database.db)
    const findings = [
      ...withholding
        .slice(0, maxListed)
        .map(({ workspaceId, name, count, since }) =>
          warn(
            `${workspaceId} "${name}": ${formatCount(count)} emails that visitors asked for wait, since ${since}`,
            'See RapportMailsWithheld in docs/alerts.md.',
          ),
        ),
      ...unused
        .slice(0, maxListed)
        .map(({ workspaceId, listId, name }) =>
          warn(
            `${workspaceId}: visitors can join ${listId} "${name}", and none has for 90 days`,
            `If no form or page needs it: PATCH /lists/${listId} {"publicSignup": "CLOSED"}`,
          ),
        ),
    ]
    if (withholding.length > maxListed) findings.push(warn('emails of more workspaces wait', 'See the metrics.'))
    if (unused.length > maxListed)
      findings.push(warn('more lists that visitors can join are unused', 'Close them too.'))
    return findings.length > 0 ? findings : [ok('no email waits, and visitors use the lists that they can join')]
  },
}
