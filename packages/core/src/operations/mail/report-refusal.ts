import type { Bounce } from '../../mail/bounces/classify-bounce.ts'
import type { Ctx } from '../../request/context.ts'
import { inRounds } from '../../request/in-rounds.ts'
import { findRefusedMail, type RefusedMail } from './find-reported-mails.ts'
import { recordReports } from './mail-events.ts'

/** The final refusal of an email by a mail server while it was sent: of a single mail, of an email from a template, or to a recipient of a campaign. */
export type Refusal = { email: string; bounce: Bounce; detail: string } & RefusedMail

/** Records a refusal like a bounce that is reported later. Once more only suppresses again. */
export function reportRefusal(ctx: Ctx, { email, bounce, detail, ...mail }: Refusal): Promise<void> {
  const report = {
    type: 'BOUNCE' as const,
    email,
    recipientToken: null,
    messageId: null,
    providerMessageId: null,
    ...bounce,
    detail,
    isRefusal: true,
  }
  return inRounds(ctx, async (ctx) => {
    const refused = await findRefusedMail(ctx, mail)
    await recordReports(ctx, [{ report, mail: { ...refused, address: email } }])
  })
}
