/** Names templates that the system paused, and emails to one person that wait too long. */
import { listLateTemplates, listPausedTemplates } from '@rapport/core/operations/overviews/waiting-emails.ts'
import { formatCount } from '../terminal.ts'
import { type Check, findingsAbout } from './finding.ts'

const { ok, warn } = findingsAbout('Emails')
const maxListed = 5
/** A batch takes some minutes, depending on MAIL_RATE. */
const lateSeconds = 900

export const emailsCheck: Check = {
  about: 'Emails',
  async run({ database }) {
    if (!database) return []
    const paused = await listPausedTemplates(database.db)
    const late = await listLateTemplates(database.db, lateSeconds)
    const findings = [
      ...paused
        .slice(0, maxListed)
        .map(({ workspaceId, templateId, name, pauseReason, count }) =>
          warn(
            `${workspaceId}: ${templateId} "${name}" is paused, ${formatCount(count)} emails wait: ${pauseReason}`,
            'See RapportTemplatePaused in docs/alerts.md.',
          ),
        ),
      ...late
        .slice(0, maxListed)
        .map(({ workspaceId, templateId, name, count, since }) =>
          warn(
            `${workspaceId}: ${formatCount(count)} emails from ${templateId} "${name}" wait, since ${since}`,
            'See RapportEmailsWait in docs/alerts.md.',
          ),
        ),
    ]
    if (paused.length > maxListed) findings.push(warn('more templates are paused', 'See the metrics.'))
    if (late.length > maxListed) findings.push(warn('emails from more templates wait', 'See the metrics.'))
    return findings.length > 0 ? findings : [ok('no template is paused, and none of their emails waits too long')]
  },
}
