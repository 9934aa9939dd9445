import { AppError } from '../../kernel/errors.ts'
import { english } from '../../kernel/values/languages.ts'
import { toMailName } from '../../mail/mail-names.ts'
import type { Mail } from '../../mail/mails.ts'
import type { OutgoingMail } from '../../mail/outgoing-mail.ts'
import { renderServiceMail } from '../../mail/service-mail.ts'
import type { Ctx } from '../../request/context.ts'
import { readTemplate } from './templates.ts'

/** Renders the notice. Returns undefined if the template was activated or deleted since. */
export async function renderPausedMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const { templateId } = mail.data
  if (!templateId) return undefined
  const template = await readTemplate(ctx, templateId).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return undefined
    throw error
  })
  if (template?.status !== 'PAUSED' || !template.pauseReason) return undefined
  const { id, name, pauseReason } = template
  return renderServiceMail(ctx, mail, {
    language: english,
    title: 'A template was paused',
    paragraphs: [
      `The template “${toMailName(name)}” (${id}) was paused: ${pauseReason}. POST /emails responds with 409 for it, and the emails that were accepted before wait. 24 hours after they were accepted, they become FAILED.`,
      `To see which emails were reported, list them: GET /emails?templateId=${id}. Send emails only to people who expect them, at addresses that they gave you.`,
      `To go on, send PATCH /templates/${id} with the body { "status": "ACTIVE" }. What was reported before does not count any more.`,
    ],
    button: { label: 'Open the API reference', url: `${ctx.settings.publicUrl}/docs` },
    small: 'Owners and admins of the workspace receive this email.',
  })
}
