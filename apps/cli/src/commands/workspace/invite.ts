import { type Invite, InviteInput } from '@rapport/core/team/team.schema.ts'
import { createInvite, listInvites, resendInvite } from '@rapport/core/team/invites.ts'
import { listMembers } from '@rapport/core/team/members.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { readAllPages } from '@rapport/core/request/paging.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../../command.ts'
import { withWorkspace } from '../../database.ts'
import { IdOption } from '../../id-option.ts'

const { email, role } = InviteInput.shape

export const workspaceInvite = defineCommand({
  positionals: ['workspace'],
  options: z.strictObject({
    workspace: IdOption('wsp').meta(option('<workspace>', 'Id of the workspace')),
    email: email.meta(option('<address>', 'Address that receives the invite')),
    role: role.meta(option('<role>', 'VIEWER, MEMBER, ADMIN or OWNER')),
    json: jsonFlag('Prints the invite as JSON, or null of a member'),
  }),
  notes: [
    'Use it when an owner has lost the mailbox, so that "rapport user reset" does not help. Only the recipient of the',
    'email can accept the invite. A worker sends the email. The command connects to the database directly and is recorded',
    'in the audit log of the workspace. Repeated, it prints the invite that waits, or nothing once it is accepted, and sends',
    'nothing.',
  ].join('\n'),
  async run(cli, { workspace, email, role, json }) {
    const invite = await withWorkspace(cli, workspace, (ctx) => ensureInvite(ctx, { email, role }))
    if (json) cli.terminal.print(JSON.stringify(invite))
    else if (invite) cli.terminal.print(invite.id)
    cli.terminal.log(invite ? `The invite for ${invite.email} expires ${invite.expiresAt}.` : `${email} is a member.`)
    return exitCodes.success
  },
})

/**
 * Returns the invite of the address with this role if it waits already, or sends an expired one again. Null if the address
 * is a member with this role.
 */
async function ensureInvite(ctx: Ctx, input: InviteInput): Promise<Invite | null> {
  return await createInvite(ctx, input).catch(async (error: unknown) => {
    if (!(error instanceof AppError && error.code === 'already_exists')) throw error
    const isAsked = ({ email, role }: InviteInput) =>
      email.toLowerCase() === input.email.toLowerCase() && role === input.role
    const members = await readAllPages((page) => listMembers(ctx, { ...page, sort: 'createdAt' }))
    if (members.some(isAsked)) return null
    const invites = await readAllPages((page) => listInvites(ctx, { ...page, sort: 'createdAt' }))
    const known = invites.find(isAsked)
    if (!known) throw error
    return Date.parse(known.expiresAt) < Date.now() ? resendInvite(ctx, known.id) : known
  })
}
