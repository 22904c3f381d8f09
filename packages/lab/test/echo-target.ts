import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A check target and single sign-on provider that echoes the requests it receives. */
export interface EchoTarget {
  readonly origin: string;
  stop(): Promise<void>;
}

export async function startEchoTarget(): Promise<EchoTarget> {
  const server = createServer(echoRequest).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** Responds with the request's content in the places where it does the most harm. */
function echoRequest(request: IncomingMessage, response: ServerResponse): void {
  const { authorization = '', cookie = '', host } = request.headers;
  const custom = String(request.headers['x-custom']);
  void text(request).then((body) => {
    const everything = `${authorization} ${cookie} ${custom} ${body} ${request.url}`;
    const redirect = (location: string) => response.writeHead(302, { location }).end(everything);
    switch ((request.url ?? '/').split('?')[0] ?? '/') {
      case '/.well-known/openid-configuration':
        return response.setHeader('Content-Type', 'application/json').end(JSON.stringify(openIdOf(host)));
      case '/app':
        return redirect(`app://${custom}/${cookie}?${body}`);
      case '/invalid':
        return redirect(`http://[${authorization} ${decoded(authorization)}`);
      case '/name':
        return redirect(`http://${custom.toLowerCase()}.invalid/`);
      case '/coding':
        return response.writeHead(200, { 'content-encoding': custom }).end(everything);
      default:
        return response.writeHead(500, everything.replace(/[^ -~]/g, '')).end(everything);
    }
  });
}

/** The decoded content of a Basic header. */
function decoded(authorization: string): string {
  const basic = /^Basic (\S+)$/.exec(authorization)?.[1] ?? '';
  return Buffer.from(basic, 'base64').toString();
}

function openIdOf(host = ''): object {
  const issuer = `http://${host}`;
  const [authorization_endpoint, token_endpoint, jwks_uri] = ['authorize', 'token', 'jwks'].map(
    (path) => `${issuer}/${path}`,
  );
  return { issuer, authorization_endpoint, token_endpoint, jwks_uri };
}
