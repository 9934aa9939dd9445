import { z } from 'zod'
import { CreatedBy, MailToken, Password } from '../auth/auth.schema.ts'
import { RecordId } from '../kernel/ids.ts'
import { CreatedAt, Email, SingleLine } from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { roles } from '../db/schema/index.ts'

const AnyRole = z.enum(roles).describe('The role in the workspace: `VIEWER` < `MEMBER` < `ADMIN` < `OWNER`.')

export const Invite = z
  .object({
    id: RecordId('inv'),
    email: z.string().describe('The address that the invite was sent to.'),
    role: z.enum(roles).describe('The role that the new member gets.'),
    createdBy: CreatedBy,
    expiresAt: Timestamp.describe('When the link in the email stops working.'),
    createdAt: CreatedAt,
  })
  .meta({
    id: 'Invite',
    description: 'A pending invite to join the workspace. Only the email contains the token.',
    examples: [
      {
        id: 'inv_01kag7m3v9e8fs2t4w6x8y0z1b',
        email: 'grace@example.com',
        role: 'MEMBER',
        createdBy: 'usr_01kag7m3v9e8fs2t4w6x8y0z1b',
        expiresAt: '2026-11-28T06:35:49.123Z',
        createdAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Invite = z.output<typeof Invite>

export const InviteInput = z
  .strictObject({
    email: Email.describe('The address to invite.'),
    role: AnyRole.describe('The role that the new member gets, at most your own.'),
  })
  .meta({
    id: 'InviteCreate',
    description: 'A new invite.',
    examples: [{ email: 'grace@example.com', role: 'MEMBER' }],
  })
export type InviteInput = z.output<typeof InviteInput>

export const InviteQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type InviteQuery = z.output<typeof InviteQuery>

export const AcceptInviteInput = z
  .strictObject({
    token: MailToken,
    password: Password.describe('The password of the new user, or of the existing one: 12 to 128 characters.'),
    name: SingleLine(200).default('').describe('The name of the new user. Ignored for an existing one.'),
  })
  .meta({
    id: 'AuthAcceptInviteRequest',
    description: 'The token from the email and the password of the user.',
    examples: [{ token: 'rpi_…', password: 'a long sentence that is hard to guess', name: 'Grace Hopper' }],
  })
export type AcceptInviteInput = z.output<typeof AcceptInviteInput>

export const Member = z
  .object({
    id: RecordId('usr'),
    email: z.string().describe('The email address of the user.'),
    name: z.string().describe('The name of the user. May be empty.'),
    role: AnyRole,
    createdAt: CreatedAt.describe('When the user joined the workspace.'),
  })
  .meta({
    id: 'Member',
    description: 'A member of the workspace. `id` is the id of the user.',
    examples: [
      {
        id: 'usr_01kag7m3v9e8fs2t4w6x8y0z1b',
        email: 'ada@example.com',
        name: 'Ada Lovelace',
        role: 'OWNER',
        createdAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Member = z.output<typeof Member>

export const MemberQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type MemberQuery = z.output<typeof MemberQuery>

export const MemberChange = z
  .strictObject({ role: AnyRole.describe('The new role, at most your own.') })
  .meta({ id: 'MemberUpdate', description: 'The new role of a member.', examples: [{ role: 'ADMIN' }] })
export type MemberChange = z.output<typeof MemberChange>

export const CreateWorkspaceInput = z.strictObject({
  name: SingleLine(200, 1),
  ownerEmail: Email,
  idempotencyKey: SingleLine(255, 1).optional(),
})
export type CreateWorkspaceInput = z.output<typeof CreateWorkspaceInput>
