import { z } from 'zod'
import { CreatedBy, MailToken, Password } from '../auth/auth.schema.ts'
import { RecordId } from '../kernel/ids.ts'
import { Email, SingleLine, Timestamp } from '../kernel/validation.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { roles } from '../db/schema/index.ts'

const AnyRole = z.enum(roles)

export const Invite = z
  .object({
    id: RecordId('inv'),
    email: z.string(),
    role: z.enum(roles),
    createdBy: CreatedBy,
    expiresAt: Timestamp,
    createdAt: Timestamp,
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
  .strictObject({ email: Email, role: AnyRole })
  .meta({ examples: [{ email: 'grace@example.com', role: 'MEMBER' }] })
export type InviteInput = z.output<typeof InviteInput>

export const InviteQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type InviteQuery = z.output<typeof InviteQuery>

export const AcceptInviteInput = z
  .strictObject({ token: MailToken, password: Password, name: SingleLine(200).default('') })
  .meta({ examples: [{ token: 'rpi_…', password: 'a long sentence that is hard to guess', name: 'Grace Hopper' }] })
export type AcceptInviteInput = z.output<typeof AcceptInviteInput>

export const Member = z
  .object({ id: RecordId('usr'), email: z.string(), name: z.string(), role: z.enum(roles), createdAt: Timestamp })
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

export const MemberChange = z.strictObject({ role: AnyRole }).meta({ examples: [{ role: 'ADMIN' }] })
export type MemberChange = z.output<typeof MemberChange>

export const MemberRemoval = z.strictObject({
  revokeApiKeys: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .transform((value) => value === 'true')
    .optional()
    .describe('Also revokes the API keys that the member created. `GET /api-keys?createdBy=` lists them.'),
})
export type MemberRemoval = z.output<typeof MemberRemoval>

export const CreateWorkspaceInput = z.strictObject({ name: SingleLine(200, 1), ownerEmail: Email })
export type CreateWorkspaceInput = z.output<typeof CreateWorkspaceInput>
