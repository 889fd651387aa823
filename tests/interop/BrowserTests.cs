using Google.Protobuf;

namespace ProtoRpc.Interop;

/// <summary>What a real browser makes of the page of a listener,
/// and of pages of others that would call it.</summary>
[PeerCall("Chromium", "HTTP", PeerSide.Client, PeerCalls.Unary | PeerCalls.Errors)]
[PeerCall("Chromium", "REST", PeerSide.Client, PeerCalls.Unary | PeerCalls.ServerStream)]
public static class BrowserTests
{
    // Fills the form of a method, sends it, and waits for what comes out.
    private const string Try = """
        (async (method, request) => {
          const form = document.querySelector(`form[data-path$="/${method}"]`);
          const output = form.querySelector('output');
          form.querySelector('textarea').value = request;
          const done = new Promise(resolve => new MutationObserver(() => {
            if (output.textContent !== '...') resolve();
          }).observe(output, { childList: true, characterData: true, subtree: true }));
          form.querySelector('button').click();
          await done;
          return output.className + '|' + output.textContent;
        })
        """;

    private const string Fetch = """
        (async (address, headers) => {
          try {
            const reply = await fetch(address, { method: 'POST', headers, body: '{"query":"x"}' });
            return reply.status + ' ' + await reply.text();
          } catch (error) { return 'blocked'; }
        })
        """;

    private const string Get =
        "(async path => { const reply = await fetch(path); return reply.status + ' ' + await "
        + "reply.text(); })";

    [PeerFact(Peer.Chromium)]
    public static async Task A_method_can_be_tried_on_the_page()
    {
        using SearchServer server =
            new(options: new RpcServerOptions { ErrorDetail = RpcErrorDetail.Message });
        await using Browser browser = await Browser.StartAsync();

        await browser.OpenAsync(server.Endpoint.Uri);
        string title = await browser.EvaluateAsync("document.title");
        string example = await browser.EvaluateAsync("document.querySelector('form textarea').value");
        string found = await browser.EvaluateAsync($$"""{{Try}}('Search', '{"query":"from a browser"}')""");
        string failed = await browser.EvaluateAsync($$"""{{Try}}('Fail', '{"query":"<b>oh</b> dear"}')""");
        string unread = await browser.EvaluateAsync($$"""{{Try}}('Search', '{')""");
        byte[] picture = await browser.CaptureAsync();

        Assert.Equal("ProtoService.SearchService", title);
        Assert.Contains("\"query\"", example, StringComparison.Ordinal);
        Assert.StartsWith("|{", found, StringComparison.Ordinal);
        Assert.Contains("\"url\": \"http://example.com/from a browser\"", found, StringComparison.Ordinal);
        Assert.StartsWith("bad|{", failed, StringComparison.Ordinal);
        Assert.Contains("<b>oh</b> dear", failed, StringComparison.Ordinal);
        Assert.StartsWith("bad|{", unread, StringComparison.Ordinal);
        Assert.Equal("0", await browser.EvaluateAsync("document.querySelectorAll('b').length"));
        Assert.Equal("PNG"u8, picture.AsSpan(1, 3));
    }

    // Also draws the pictures of docs/http.md, in the folder that PROTORPC_PAGE_PICTURES names by its full
    // path.
    [PeerFact(Peer.Chromium)]
    public static async Task The_page_is_dark_where_the_system_is()
    {
        const string Brightness = """
            ((element, what) => getComputedStyle(document.querySelector(element))[what]
              .match(/[\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part) / 3, 0))
            """;
        using SearchServer server = new();
        await using Browser browser = await Browser.StartAsync();
        foreach (bool isDark in (bool[])[false, true])
        {
            await browser.PreferAsync(isDark);
            await browser.OpenAsync(server.Endpoint.Uri);
            await browser.EvaluateAsync($$"""{{Try}}('Search', '{"query":"tea"}')""");
            foreach (string element in (string[])["body", "pre", "textarea", "output"])
            {
                double text = await BrightnessAsync(element, "color");
                double ground = await BrightnessAsync(element, "backgroundColor");

                Assert.InRange(isDark ? text - ground : ground - text, 150, 255);
                Assert.Equal(isDark, ground < 64);
            }

            if (Environment.GetEnvironmentVariable("PROTORPC_PAGE_PICTURES") is { Length: > 0 } folder)
            {
                string name = isDark ? "http-page-dark.png" : "http-page.png";
                await File.WriteAllBytesAsync(Path.Combine(folder, name), await browser.CaptureAsync());
            }
        }

        async Task<double> BrightnessAsync(string element, string what) => double.Parse(
            await browser.EvaluateAsync($"{Brightness}('{element}', '{what}')"),
            System.Globalization.CultureInfo.InvariantCulture);
    }

    [PeerFact(Peer.Chromium)]
    public static async Task A_rule_can_be_tried_on_the_page()
    {
        (string Method, string Rule, string Request)[] cases =
        [
            ("Get", "GET /v1/shelves/{name}", """{"name":"a/b c","number":3,"inner":{"tags":["x","y"]}}"""),
            ("Book", "GET /v1/{name=shelves/*/books/*}", """{"name":"shelves/1 2/books/3"}"""),
            ("File", "GET /v1/files/{name=**}", """{"name":"a/b/c"}"""),
            ("Update", "PATCH /v1/{inner.name=shelves/*/books/*}",
                """{"inner":{"name":"shelves/1/books/2","number":4},"flag":true}"""),
            ("Create", "POST /v1/shelves", """{"name":"new","big":"9007199254740993"}"""),
            ("Maybe", "GET /v1/maybe/{maybe_number}", """{"maybeNumber":"5"}"""),
            ("Get", "POST /rest.S/Get", """{"name":"x"}"""),
        ];
        RpcSchema schema = RestProtos.WithRules(
            ("S/Get", RestProtos.Rule(("get", "/v1/shelves/{name}"))),
            ("S/Book", RestProtos.Rule(("get", "/v1/{name=shelves/*/books/*}"))),
            ("S/File", RestProtos.Rule(("get", "/v1/files/{name=**}"))),
            ("S/Update", RestProtos.Rule(("patch", "/v1/{inner.name=shelves/*/books/*}"), ("body", "inner"))),
            ("S/Create", RestProtos.Rule(("post", "/v1/shelves"), ("body", "*"))),
            ("S/Maybe", RestProtos.Rule(("get", "/v1/maybe/{maybe_number}"))));
        RpcServer server = RpcServer.Create(schema, "rest.S", new RpcServerOptions().WithHttp());
        foreach (RpcMethodInfo method in schema.GetService("rest.S").Methods)
        {
            server.Handle(method.Name, (context, request) =>
            {
                DynamicMessage reply = new(context.Method.ReplyType);
                reply["method"] = context.Method.Name;
                reply["request"] = request;
                return ValueTask.FromResult<IMessage>(reply);
            });
        }

        await using (server.AddEndpoint("http://127.0.0.1:0/app").StartListening())
        {
            await using Browser browser = await Browser.StartAsync();
            await browser.OpenAsync(server.Endpoints[0].Uri);
            foreach ((string method, string rule, string request) in cases)
            {
                string path = rule.Replace(" /", " /app/", StringComparison.Ordinal);
                await browser.EvaluateAsync($$"""
                    (() => {
                      const select = document.querySelector('form[data-path$="/{{method}}"] select');
                      select.selectedIndex =
                        [...select.options].findIndex(option => option.text === '{{path}}');
                    })()
                    """);
                string answer = await browser.EvaluateAsync($"{Try}('{method}', '{request}')");

                Assert.StartsWith("|{", answer, StringComparison.Ordinal);
                DynamicMessage reply =
                    MessageFormats.Json.Read(schema.GetMessage("rest.Reply"), answer[1..]);
                Assert.Equal(method, reply["method"]);
                Assert.Equal(
                    MessageFormats.Json.Read(schema.GetMessage("rest.Request"), request),
                    reply["request"]);
            }
        }
    }

    [PeerFact(Peer.Chromium)]
    public static async Task A_page_of_another_origin_calls_only_what_allows_it()
    {
        using SearchServer others = new();
        using SearchServer closed = new();
        using SearchServer open = new(
            new HttpServerOptions { AllowedOrigins = [$"http://127.0.0.1:{others.Endpoint.Port}"] });
        await using Browser browser = await Browser.StartAsync();

        // A page that may run what it likes; ours has a policy that forbids even the attempt.
        await browser.OpenAsync($"{others.Endpoint.Uri}ProtoService.proto");
        string refused = await browser.EvaluateAsync(
            $"{Fetch}('{MethodOf(closed)}', {{'Content-Type': 'text/plain'}})");
        string asked = await browser.EvaluateAsync(
            $"{Fetch}('{MethodOf(closed)}', {{'Content-Type': 'application/json'}})");
        string allowed = await browser.EvaluateAsync(
            $"{Fetch}('{MethodOf(open)}', {{'Content-Type': 'application/json'}})");

        Assert.Equal("blocked", refused);
        Assert.Equal("blocked", asked);
        Assert.Equal(0, closed.Server.Counters.Calls);
        Assert.StartsWith("200 ", allowed, StringComparison.Ordinal);
        open.Server.RequireCounts(counts => counts.Calls == 1);
    }

    [PeerFact(Peer.Chromium)]
    public static async Task A_page_of_an_allowed_origin_sends_headers_and_reads_events()
    {
        using SearchServer others = new();
        HttpServerOptions options =
            new() { AllowedOrigins = [$"http://127.0.0.1:{others.Endpoint.Port}"] };
        using SearchServer open = new(options);
        using RestServer events = new(options);
        using RestServer closed = new();
        await using Browser browser = await Browser.StartAsync();
        await browser.OpenAsync($"{others.Endpoint.Uri}ProtoService.proto");
        const string Listen = """
            (address => new Promise(resolve => {
              const said = [];
              const source = new EventSource(address);
              source.onmessage = event => {
                said.push(JSON.parse(event.data).tags[0]);
                if (said.length === 3) { source.close(); resolve(said.join()); }
              };
              source.onerror = () => { source.close(); resolve('blocked'); };
            }))
            """;

        string sent = await browser.EvaluateAsync(
            $"{Fetch}('{MethodOf(open)}', {{'Content-Type': 'application/json', 'x-team': 'blue'}})");
        string heard = await browser.EvaluateAsync($"{Listen}('{events.Http.BaseAddress}v1/watch/3')");
        string refused = await browser.EvaluateAsync($"{Listen}('{closed.Http.BaseAddress}v1/watch/3')");

        Assert.StartsWith("200 ", sent, StringComparison.Ordinal);
        Assert.Equal("1,2,3", heard);
        Assert.Equal("blocked", refused);
        Assert.Equal(0, closed.Server.Counters.Calls);
    }

    // The attacker's page is served by the attacker at first, and then its name leads to this machine.
    [PeerFact(Peer.Chromium)]
    public static async Task A_page_under_a_name_that_leads_to_this_machine_gets_nothing()
    {
        using SearchServer server = new();
        using SearchServer named = new(new HttpServerOptions { AllowedHosts = ["rebound.example"] });
        await using Browser browser = await Browser.StartAsync("MAP rebound.example 127.0.0.1");
        string foreign = $"http://rebound.example:{server.Endpoint.Port}";
        string allowed = $"http://rebound.example:{named.Endpoint.Port}";
        string post =
            $"{Fetch}('/ProtoService.SearchService/Search', {{'Content-Type': 'application/json'}})";

        foreach (string path in new[] { "/", "/ProtoService.proto",
            "/ProtoService.SearchService/Search?query=x" })
        {
            await browser.OpenAsync(foreign + path);
            string shown = await browser.EvaluateAsync("document.documentElement.outerHTML");
            string read = await browser.EvaluateAsync($"{Get}('{path}')");
            string posted = await browser.EvaluateAsync(post);

            Assert.DoesNotContain("SearchService", shown, StringComparison.Ordinal);
            Assert.StartsWith("403 ", read, StringComparison.Ordinal);
            Assert.StartsWith("403 ", posted, StringComparison.Ordinal);
            Assert.DoesNotContain("SearchService", read + posted, StringComparison.Ordinal);
        }

        Assert.Equal(0, server.Server.Counters.Calls);
        await browser.OpenAsync($"{allowed}/ProtoService.proto");
        Assert.StartsWith("200 ", await browser.EvaluateAsync(post), StringComparison.Ordinal);
        await browser.OpenAsync($"http://shop.localhost:{server.Endpoint.Port}/ProtoService.proto");
        Assert.StartsWith("200 ", await browser.EvaluateAsync(post), StringComparison.Ordinal);
    }

    private static string MethodOf(SearchServer server) =>
        $"{server.Endpoint.Uri}ProtoService.SearchService/Search";
}
