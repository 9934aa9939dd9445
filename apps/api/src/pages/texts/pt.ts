import type { PageTexts } from './en.ts'

export const pt: PageTexts = {
  brokenLink: 'Este link não funciona',
  brokenTrackedLink: 'O link pode estar incompleto. Clique novamente no link do e-mail.',
  suspended: {
    title: 'Isto não é possível no momento',
    text: 'Este serviço não está disponível agora. Tente novamente mais tarde.',
  },
  tooManyRequests: {
    title: 'Tente novamente em um minuto',
    text: 'Esta página foi aberta vezes demais a partir da sua rede. Nada foi alterado.',
  },
  unavailable: { title: 'Isto não é possível no momento', text: 'Tente novamente em instantes. Nada foi alterado.' },
  continue: 'Continuar',
  subscription: {
    emails: (list, sender) => `“${list}”, de ${sender}`,
    anyEmails: 'os e-mails desta lista',
    allNewsletters: 'as newsletters deste remetente, inclusive as que forem criadas no futuro',
    confirm: {
      title: 'Confirme sua inscrição',
      text: (emails) => `Clique no botão para receber ${emails}. Você pode cancelar a inscrição a qualquer momento.`,
      button: 'Confirmar inscrição',
    },
    confirmed: {
      title: 'Sua inscrição está confirmada',
      text: (emails) => `A partir de agora, você receberá ${emails}. Você já pode fechar esta página.`,
    },
    unsubscribe: {
      title: 'Cancelar inscrição',
      text: (emails) => `Clique no botão para deixar de receber ${emails}.`,
      button: 'Cancelar inscrição',
    },
    unsubscribed: {
      title: 'Sua inscrição foi cancelada',
      text: (emails) => `Você não receberá mais ${emails}.`,
      undo: 'Se foi um engano, você pode desfazer o cancelamento em até dez minutos.',
      button: 'Inscrever-se novamente',
    },
    restored: {
      title: 'Sua inscrição está ativa novamente',
      text: (emails) => `Você receberá ${emails} como antes. Você já pode fechar esta página.`,
    },
    test: {
      title: 'Este é um e-mail de teste',
      text: 'Aqui o link não tem efeito. Na campanha, ele serve para cancelar a inscrição.',
    },
    brokenConfirmation:
      'O link pode estar incompleto ou ter mais de sete dias. Use o link do e-mail mais recente ou inscreva-se novamente.',
    brokenUnsubscribe:
      'O link está incompleto. Clique novamente no link do e-mail ou responda ao e-mail pedindo o cancelamento.',
    brokenUndo:
      'Só é possível desfazer o cancelamento nos dez minutos seguintes. Inscreva-se novamente onde fez a primeira inscrição.',
  },
  tracking: {
    opens: 'quando você abre os e-mails deste remetente',
    clicks: 'quando você clica nos links dos e-mails deste remetente',
    opensAndClicks: 'quando você abre os e-mails deste remetente e clica nos links deles',
    also: (sender) =>
      `Você também pode permitir que ${sender} registre o seguinte. Sua inscrição não depende disso, e você pode mudar isso a qualquer momento.`,
    granted: (sender, what) => `A partir de agora, ${sender} pode registrar ${what}.`,
    confirm: {
      title: 'Confirme o que pode ser registrado',
      text: (sender, what) =>
        `Clique no botão para permitir que ${sender} registre ${what}. Você pode mudar isso a qualquer momento.`,
      button: 'Confirmar',
    },
    confirmed: {
      title: 'Obrigado pela confirmação',
      text: (sender, what) => `A partir de agora, ${sender} pode registrar ${what}. Você já pode fechar esta página.`,
    },
    broken:
      'O link pode estar incompleto ou ter mais de sete dias, ou você fez outra escolha desde então. Nada foi alterado.',
  },
  preferences: {
    title: 'Suas preferências de e-mail',
    text: (sender, email) => `Escolha quais e-mails ${sender} envia para ${email}.`,
    received: 'Você recebe',
    left: 'Você não recebe mais',
    pending: 'Aguardando confirmação',
    noLists: (sender) => `${sender} não envia nenhuma newsletter para você.`,
    asked: (email) => `Para se inscrever novamente, use o link do e-mail que enviamos para ${email}.`,
    notAsked:
      'Nenhum e-mail foi enviado. Talvez você tenha recebido um há pouco tempo: use o link dele ou tente novamente mais tarde.',
    stop: {
      title: 'Não receber mais newsletters',
      text: (sender) =>
        `${sender} não enviará mais newsletters para você, nem mesmo as que forem criadas no futuro. Os e-mails sobre uma conta ou um pedido continuam chegando.`,
      button: 'Cancelar todas as inscrições',
    },
    stopped: (sender) =>
      `${sender} não envia mais newsletters para você, nem enviará as que forem criadas no futuro. Os e-mails sobre uma conta ou um pedido continuam chegando.`,
    tracking: {
      title: 'O que pode ser registrado',
      opens: 'Quando abro os e-mails',
      clicks: 'Quando clico nos links',
      levels: {
        PERSON: 'Registrado atualmente',
        ANONYMOUS: 'Contado atualmente, sem o seu nome',
        OFF: 'Não registrado atualmente',
      },
      button: 'Salvar',
      saved:
        'Salvo. O que você não permite não é mais registrado sobre você, nem mesmo nos e-mails que você já recebeu.',
      asked: (email) => `Para permitir isso, use o link do e-mail que enviamos para ${email}.`,
    },
    data: {
      title: 'Seus dados',
      text: (sender, email) =>
        `Tudo o que ${sender} guarda sobre você na base de contatos, em um e-mail para ${email}.`,
      button: 'Receber meus dados',
      sent: (email) => `Estamos enviando seus dados para ${email}.`,
      notSent:
        'Seus dados não foram enviados. Talvez você os tenha recebido há pouco tempo. Tente novamente mais tarde.',
    },
    former:
      'Este link pertence a um endereço de e-mail anterior e, por isso, não pode mostrar o que você recebe. Mesmo assim, aqui você pode cancelar todas as inscrições.',
    erased: (sender) => `${sender} não guarda nenhum dado sobre você na base de contatos.`,
    erasedAndStopped: (sender) =>
      `Na base de contatos, ${sender} guarda apenas o seu pedido de não receber newsletters.`,
    closed: {
      title: 'Este remetente não existe mais',
      text: 'Ele não envia mais newsletters para você, e os seus dados são excluídos.',
    },
    test: 'Aqui o link não tem efeito. Na campanha, ele leva às preferências de cada pessoa.',
    link: 'Todas as preferências de e-mail',
  },
  form: {
    problems: 'Corrija o seguinte:',
    titleWithProblems: (form) => `Verifique: ${form}`,
    changed: 'Este formulário foi alterado. Revise suas respostas e envie-o novamente.',
    optional: '(opcional)',
    choose: 'Selecione uma opção',
    honeypot: 'Deixe este campo vazio',
    send: 'Enviar',
    unavailable: {
      title: 'Este formulário não está disponível',
      text: 'Ele pode ter sido encerrado ou o link pode estar incompleto.',
    },
    failed: 'Não foi possível enviar o formulário. Tente novamente.',
    confirm: 'Se deseja receber e-mails, confirme com o link no e-mail que enviamos a você.',
    tooManyAttempts: 'Muitas tentativas. Tente novamente em um minuto.',
  },
  account: {
    name: 'Seu nome',
    email: 'E-mail',
    password: 'Senha',
    forgotPassword: {
      title: 'Esqueceu sua senha?',
      text: 'Digite o endereço de e-mail da sua conta. Enviaremos um link para você escolher uma nova senha.',
      button: 'Enviar link',
      done: {
        title: 'Verifique seu e-mail',
        text: 'Se houver uma conta com este endereço, enviamos um link para ele. O link expira em uma hora.',
      },
    },
    resetPassword: {
      title: 'Escolha uma nova senha',
      heading: (email) => `Escolha uma nova senha para ${email}`,
      text: 'Use pelo menos 12 caracteres. Sua sessão será encerrada em todos os dispositivos.',
      button: 'Salvar senha',
      done: {
        title: 'Sua senha foi salva',
        text: 'Sua sessão foi encerrada em todos os dispositivos. Você já pode fechar esta página.',
      },
      broken:
        'Ele pode estar incompleto, já ter sido usado ou ter mais de uma hora. Solicite um novo link para escolher uma senha.',
      requestLink: 'Solicitar um novo link',
    },
    acceptInvite: {
      title: (workspace) => `Participar de ${workspace}`,
      heading: (workspace, email) => `Participar de ${workspace} como ${email}`,
      newAccount: 'Escolha uma senha com pelo menos 12 caracteres.',
      knownAccount: 'Você já tem uma conta com este endereço. Digite a senha dela.',
      button: 'Participar',
      done: {
        title: 'Boas-vindas',
        text: 'Agora você faz parte do espaço de trabalho. Você já pode fechar esta página.',
      },
      broken:
        'Ele pode estar incompleto, já ter sido usado ou cancelado, ou ter mais de sete dias. Peça a quem convidou você que envie o convite novamente.',
      wrongPassword: 'Já existe uma conta com este endereço: use a senha dela.',
    },
    verifyEmail: {
      title: 'Confirme seu endereço de e-mail',
      heading: (email) => `Confirme ${email}`,
      text: 'Digite sua senha para confirmar que este endereço de e-mail é seu.',
      button: 'Confirmar',
      done: { title: 'Seu endereço de e-mail está confirmado', text: 'Obrigado. Você já pode fechar esta página.' },
      broken:
        'Ele pode estar incompleto ou ter mais de sete dias. Solicite um novo e-mail de confirmação. Ou escolha uma nova senha: isso também confirma seu endereço.',
      wrongPassword: 'A senha está incorreta.',
    },
    problems: {
      passwordMissing: 'Digite uma senha.',
      passwordLength: 'A senha deve ter de 12 a 128 caracteres.',
      passwordUnsuitable: 'A senha é muito comum ou contém caracteres não permitidos. Escolha outra.',
      name: 'Seu nome pode ter no máximo 200 caracteres, sem quebras de linha.',
      tooManyAttempts: 'Muitas tentativas sem sucesso. Aguarde alguns minutos e tente novamente.',
      failed: 'Não funcionou. Tente novamente mais tarde.',
    },
  },
}
