/** Names senders whose domain belongs to another workspace. */
import { normalizeAddress } from '@rapport/core/mail/normalize-address.ts'
import { listSendersOfOthers } from '@rapport/core/operations/overviews/senders-of-others.ts'
import { type Check, findingsAbout } from '../finding.ts'

export const sendersOfOthersCheck: Check = {
  about: 'Senders',
  async run({ database, config: { MAIL_FROM = '' } }) {
    if (!database) return []
    const senders = await listSendersOfOthers(database.db)
    return senders
      .filter(({ fromEmail }) => normalizeAddress(fromEmail) !== normalizeAddress(MAIL_FROM))
      .map(({ workspaceId, fromEmail }) =>
        findingsAbout('Senders').warn(
          `${workspaceId} names ${fromEmail}, whose domain another workspace has verified: nothing is sent from it`,
          'The workspace verifies the domain too (POST /domains), or you give it: "rapport workspace set-senders".',
        ),
      )
  },
}
