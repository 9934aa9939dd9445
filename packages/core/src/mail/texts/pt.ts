import type { MailTexts } from './en.ts'

export const pt: MailTexts = {
  confirmation: {
    title: (list) => `Confirme sua inscrição em “${list}”`,
    text: (sender, list, address) => `Confirme que ${sender} pode enviar “${list}” para ${address}.`,
    tracking: (sender, what) =>
      `Na página, você também pode permitir que ${sender} registre ${what}. Sua inscrição não depende disso.`,
    button: 'Confirmar inscrição',
    small:
      'Este link expira em sete dias. Se você não fez este pedido, pode ignorar este e-mail: sem a sua confirmação, nenhuma inscrição será feita.',
  },
  tracking: {
    opens: 'quando você abre os e-mails deste remetente',
    clicks: 'quando você clica nos links dos e-mails deste remetente',
    opensAndClicks: 'quando você abre os e-mails deste remetente e clica nos links deles',
    title: (sender) => `Confirme o que ${sender} pode registrar`,
    text: (sender, what) => `Confirme que ${sender} pode registrar ${what}.`,
    button: 'Confirmar',
    small: 'Este link expira em sete dias. Se você não fez este pedido, pode ignorar este e-mail: nada mudará.',
  },
  personalData: {
    title: (sender) => `Seus dados em ${sender}`,
    attached: (sender) =>
      `O arquivo anexo contém tudo o que ${sender} guarda sobre você na base de contatos. É um arquivo JSON, que você pode abrir em qualquer editor de texto.`,
    tooLarge: (sender) =>
      `Os dados que ${sender} guarda sobre você na base de contatos são grandes demais para um e-mail. Entre em contato com ${sender} para recebê-los de outra forma.`,
    small:
      'Você recebe este e-mail porque ele foi solicitado na sua página de preferências. Ele foi enviado apenas para o seu endereço.',
  },
  invite: {
    title: (workspace) => `Convite para ${workspace}`,
    text: (workspace) => `Você recebeu um convite para participar do espaço de trabalho “${workspace}”.`,
    button: 'Aceitar o convite',
    small:
      'Este link expira em sete dias e funciona uma única vez. Se você não esperava este convite, pode ignorar este e-mail.',
  },
  passwordReset: {
    title: 'Escolha uma nova senha',
    text: (address) => `Recebemos um pedido para redefinir a senha de ${address}.`,
    warning:
      'Este endereço nunca foi confirmado; por isso, outra pessoa pode ter criado a conta. Para sua segurança, ao escolher uma nova senha, também são revogadas as chaves de API e os convites que a conta criou. Nos espaços de trabalho que pertencem a ela, os webhooks são desativados e os hooks de e-mail são excluídos. Depois disso, confira os membros desses espaços de trabalho.',
    button: 'Escolher uma nova senha',
    small:
      'Este link expira em uma hora e funciona uma única vez. Se você não fez este pedido, pode ignorar este e-mail: sua senha continua a mesma.',
  },
  verification: {
    title: 'Confirme seu endereço de e-mail',
    text: (host, address) => `Foi criada uma conta em ${host} para ${address}.`,
    request: 'Confirme que este endereço de e-mail é seu.',
    button: 'Confirmar endereço de e-mail',
    small:
      'Este link expira em sete dias, e você precisa da sua senha para usá-lo. Se você não criou esta conta, pode ignorar este e-mail ou redefinir a senha para assumir a conta.',
  },
  footer: {
    reason: (list) => `Você recebe este e-mail porque seu endereço está inscrito em “${list}”.`,
    unsubscribe: 'Cancelar inscrição',
    preferences: 'Preferências de e-mail',
  },
  emailFooter: {
    REQUEST: (sender) => `Você recebe este e-mail de ${sender} porque o solicitou.`,
    CONTRACT: (sender) => `Você recebe este e-mail de ${sender} por causa da sua conta ou do seu pedido.`,
    SECURITY: (sender) => `Você recebe este e-mail de ${sender} porque ele diz respeito à segurança da sua conta.`,
    LEGAL: (sender) => `Você recebe este e-mail de ${sender} porque a lei exige.`,
  },
}
