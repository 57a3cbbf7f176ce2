import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetSocketAddress;
import java.util.EnumSet;
import java.util.Map;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.FilterHolder;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/**
 * Iceberg's own REST catalog, in memory, on a free port of the loopback. Arguments: the warehouse; the secret that
 * clients must get a token with (empty: everybody may come in); the storage credentials, a JSON list, that each
 * client which asks for some gets with a table. Prints its address and ends when its standard input does.
 */
final class CatalogServer {
  private static final String TOKENS = "/v1/oauth/tokens";

  private CatalogServer() {}

  public static void main(String[] arguments) throws Exception {
    InMemoryCatalog catalog = new InMemoryCatalog();
    catalog.initialize("tests", Map.of("warehouse", arguments[0]));
    String secret = arguments[1].isEmpty() ? null : arguments[1];
    String credentials = arguments.length > 2 ? arguments[2] : null;
    ServletContextHandler context = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    context.addFilter(new FilterHolder(new Gate(secret, credentials)), "/*", EnumSet.allOf(jakarta.servlet.DispatcherType.class));
    context.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    Server server = new Server(new InetSocketAddress("127.0.0.1", 0));
    server.setHandler(context);
    server.start();
    System.out.println("http://127.0.0.1:" + server.getURI().getPort());
    while (System.in.read() >= 0) {}
    System.exit(0);
  }

  /** Lets in whoever has a token, and loses the answers to commits of clients that ask for it. */
  private static final class Gate implements Filter {
    private final String secret;
    private final String credentials;

    Gate(String secret, String credentials) {
      this.secret = secret;
      this.credentials = credentials;
    }

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
        throws IOException, ServletException {
      HttpServletRequest asked = (HttpServletRequest) request;
      HttpServletResponse answer = (HttpServletResponse) response;
      boolean tokens = asked.getRequestURI().equals(TOKENS);
      if (secret != null && tokens && !secret.equals(asked.getParameter("client_secret"))) {
        answer.sendError(401);
        return;
      }
      if (secret != null && tokens) {
        answer.setContentType("application/json");
        answer
            .getWriter()
            .print(
                "{\"access_token\":\"t-" + secret + "\",\"token_type\":\"bearer\",\"expires_in\":3600}");
        return;
      }
      if (secret != null && !("Bearer t-" + secret).equals(asked.getHeader("Authorization"))) {
        answer.sendError(401);
        return;
      }
      boolean delegated = "vended-credentials".equals(asked.getHeader("x-iceberg-access-delegation"));
      boolean commit = asked.getMethod().equals("POST") && asked.getRequestURI().matches(".*/tables/[^/]+");
      if (commit && "answers".equals(asked.getHeader("x-lose"))) {
        chain.doFilter(request, new Held(answer));
        answer.setStatus(502);
      } else if (commit && "requests".equals(asked.getHeader("x-lose"))) {
        answer.setStatus(502);
      } else if (credentials != null && delegated) {
        Held held = new Held(answer);
        chain.doFilter(request, held);
        answer.setStatus(held.status);
        String text = held.text.toString();
        boolean table = text.contains("\"metadata\":");
        answer
            .getWriter()
            .print(
                table
                    ? text.substring(0, text.lastIndexOf('}'))
                        + ",\"storage-credentials\":"
                        + credentials
                        + "}"
                    : text);
      } else {
        chain.doFilter(request, response);
      }
    }
  }

  /** Keeps what is written to it. */
  private static final class Held extends HttpServletResponseWrapper {
    private final StringWriter text = new StringWriter();
    private int status = 200;

    Held(HttpServletResponse response) {
      super(response);
    }

    @Override
    public PrintWriter getWriter() {
      return new PrintWriter(text);
    }

    @Override
    public void setStatus(int status) {
      this.status = status;
    }
  }
}
