namespace ProtoRpc.Tests.Shared;

public static class RpcEndpointTests
{
    [Theory]
    [InlineData("grpc+unix:///C:/run/x.sock", true, "C:/run/x.sock")]
    [InlineData("grpc+unix:///C:/run/x.sock", false, "/C:/run/x.sock")]
    [InlineData("grpc+unix:///run/x.sock", true, "/run/x.sock")]
    [InlineData("grpc+unix:///c", true, "/c")]
    public static void A_socket_of_Windows_may_be_on_a_drive(string text, bool isWindows, string path)
    {
        RpcEndpoint endpoint = RpcEndpoint.Parse(text);

        Assert.Equal(path, RpcEndpoint.SocketPathOf(endpoint.Name, isWindows));
        Assert.Equal(text, endpoint.ToString());
    }

    [Theory]
    [InlineData("ncacn_ip_tcp:host[8080]", RpcTransport.Tcp, "host", 8080, "")]
    [InlineData("NCACN_IP_TCP:10.0.0.1[0]", RpcTransport.Tcp, "10.0.0.1", 0, "")]
    [InlineData("ncacn_ip_tcp:[8080]", RpcTransport.Tcp, "127.0.0.1", 8080, "")]
    [InlineData("ncacn_ip_tcp:::1[8080]", RpcTransport.Tcp, "::1", 8080, "")]
    [InlineData("ncacn_ip_tcp:[::1][8080]", RpcTransport.Tcp, "::1", 8080, "")]
    [InlineData("tcp://host:8080", RpcTransport.Tcp, "host", 8080, "")]
    [InlineData("tcp://[::1]:8080", RpcTransport.Tcp, "::1", 8080, "")]
    [InlineData(@"ncacn_np:[\pipe\MyService]", RpcTransport.NamedPipe, "", 0, "MyService")]
    [InlineData(@"ncacn_np:\\localhost[\PIPE\MyService]", RpcTransport.NamedPipe, "", 0, "MyService")]
    [InlineData(@"ncacn_np:server[\pipe\MyService]", RpcTransport.NamedPipe, "server", 0, "MyService")]
    [InlineData("pipe://./MyService", RpcTransport.NamedPipe, "", 0, "MyService")]
    [InlineData("pipe://server/MyService", RpcTransport.NamedPipe, "server", 0, "MyService")]
    [InlineData("ncalrpc:[MyService]", RpcTransport.Local, "", 0, "MyService")]
    [InlineData("local://MyService", RpcTransport.Local, "", 0, "MyService")]
    [InlineData("ncalrpc:[MyService,transport=lrpc]", RpcTransport.Lrpc, "", 0, "MyService")]
    [InlineData("NCALRPC:localhost[ MyService , Transport=LRPC ]", RpcTransport.Lrpc, "", 0, "MyService")]
    [InlineData("lrpc://MyService", RpcTransport.Lrpc, "", 0, "MyService")]
    [InlineData("http://host:8081/", RpcTransport.Http, "host", 8081, "/")]
    [InlineData("https://host", RpcTransport.Https, "host", 443, "/")]
    [InlineData("https://host/base/path", RpcTransport.Https, "host", 443, "/base/path")]
    [InlineData("http://host?x=1", RpcTransport.Http, "host", 80, "/?x=1")]
    [InlineData("https://host:1/path?x=/a&y=b@c:2", RpcTransport.Https, "host", 1, "/path?x=/a&y=b@c:2")]
    [InlineData("grpc://localhost:50051", RpcTransport.Grpc, "localhost", 50051, "")]
    [InlineData("grpcs://localhost", RpcTransport.Grpcs, "localhost", 443, "")]
    [InlineData("grpc://localhost:50051/api/", RpcTransport.Grpc, "localhost", 50051, "/api")]
    [InlineData("tcp://[fe80::1%25]:80", RpcTransport.Tcp, "fe80::1%25", 80, "")]
    [InlineData("tcp://my_host.example.:80", RpcTransport.Tcp, "my_host.example.", 80, "")]
    [InlineData("tcp://m\u00FCnchen.example:80", RpcTransport.Tcp, "m\u00FCnchen.example", 80, "")]
    [InlineData("http://*:80", RpcTransport.Http, "*", 80, "/")]
    [InlineData("http://+:80/", RpcTransport.Http, "+", 80, "/")]
    [InlineData("grpc+unix:///run/x.sock", RpcTransport.GrpcUnix, "", 0, "/run/x.sock")]
    public static void Reads_string_bindings_and_uris(
        string text, RpcTransport transport, string host, int port, string name)
    {
        RpcEndpoint endpoint = RpcEndpoint.Parse(text);

        Assert.Equal(transport, endpoint.Transport);
        Assert.Equal(host, endpoint.Host);
        Assert.Equal(port, endpoint.Port);
        Assert.Equal(name, endpoint.Name);
    }

    [Theory]
    [InlineData("", "protocol sequence")]
    [InlineData("host:8080", "protocol sequence 'host' is not known")]
    [InlineData("ncacn_ip_tcp:host", "endpoint in square brackets is missing")]
    [InlineData("ncacn_ip_tcp:host[]", "'' is not a port number")]
    [InlineData("ncacn_ip_tcp:host[http]", "'http' is not a port number")]
    [InlineData("ncacn_ip_tcp:host[65536]", "not in 0..65535")]
    [InlineData("ncacn_ip_tcp:host[-1]", "'-1' is not a port number")]
    [InlineData("ncacn_ip_tcp:host[8080,Security=x]", "options")]
    [InlineData("ncacn_np:[MyService]", @"[\pipe\NAME]")]
    [InlineData(@"ncacn_np:[\pipe\]", "the name is missing")]
    [InlineData("ncalrpc:[]", "the name is missing")]
    [InlineData("ncalrpc:server[x]", "has no host")]
    [InlineData("ncalrpc:[../../etc/passwd]", "ASCII letters")]
    [InlineData("ncalrpc:[a/b]", "ASCII letters")]
    [InlineData("local://..", "does not start with a dot")]
    [InlineData("ncacn_ip_tcp:host[8080,transport=lrpc]", "options after the endpoint are not supported")]
    [InlineData("ncalrpc:[x,]", "the option after the comma is missing")]
    [InlineData("ncalrpc:[x,transport=alpc]", "supports only 'transport=lrpc'")]
    [InlineData("ncalrpc:[x,transport=lrpc,transport=lrpc]", "supports only 'transport=lrpc'")]
    [InlineData("ncalrpc:[x,transport]", "supports only 'transport=lrpc'")]
    [InlineData("ncalrpc:[x,Security=Impersonation Static True]", "supports only 'transport=lrpc'")]
    [InlineData("ncalrpc:[,transport=lrpc]", "the name is missing")]
    [InlineData("ncalrpc:server[x,transport=lrpc]", "has no host")]
    [InlineData("lrpc://a,Security=x", "ASCII letters")]
    [InlineData("local://a?transport=lrpc", "ASCII letters")]
    [InlineData("ncadg_ip_udp:host[135]", "'ncadg_ip_udp' is not known")]
    [InlineData("ftp://host", "scheme 'ftp' is not known")]
    [InlineData("tcp://host", "port is missing")]
    [InlineData("tcp://:80", "host is missing")]
    [InlineData("tcp:// :80", "host is missing")]
    [InlineData("tcp://\u00A0:80", "host is missing")]
    [InlineData("http://\t/", "host is missing")]
    [InlineData("ncacn_ip_tcp: [80]", "host is missing")]
    [InlineData("tcp:// host:80", "' host' is neither a host name nor an IP address")]
    [InlineData("tcp://a b:80", "neither a host name")]
    [InlineData("tcp://a..b:80", "neither a host name")]
    [InlineData("tcp://a,b:80", "neither a host name")]
    [InlineData("grpc://host:1?x=1", "'?x=1' is a query")]
    [InlineData("tcp://host:1#x", "'#x' after the port")]
    [InlineData("http://host#x", "'#x' is a fragment, which is never sent")]
    [InlineData("https://host/path?y=1#x?z", "'#x?z' is a fragment")]
    [InlineData("http://host:a?x=1", "'a' is not a port number")]
    [InlineData("grpc://$(x):80", "neither a host name")]
    [InlineData("grpc://ho\u202Est:80", "neither a host name")]
    [InlineData("grpcs://a\u001Bb", "neither a host name")]
    [InlineData("tcp://[host]:80", "'[host]' is not an IPv6 address")]
    [InlineData("tcp://[::1:80", "is not a port number")]
    [InlineData("tcp://[]:80", "'[]' is not an IPv6 address")]
    [InlineData("ncacn_ip_tcp:[[::1]][80]", "is not an IPv6 address")]
    [InlineData("ncacn_ip_tcp:a/b[80]", "neither a host name")]
    [InlineData("pipe://a b/x", "neither a host name")]
    [InlineData(@"ncacn_np:a b[\pipe\x]", "neither a host name")]
    [InlineData("http://host/a\u001Bb", "the path has a control character")]
    [InlineData("grpc+unix:///a\nb", "the path has a control character")]
    [InlineData("tcp://user@host:80", "give a credential")]
    [InlineData("tcp://host:80/path", "'/path' after the port")]
    [InlineData("grpc+unix://", "absolute path is missing")]
    [InlineData("pipe://MyService", "pipe://./NAME")]
    public static void Says_what_is_wrong_and_which_forms_there_are(string text, string part)
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcEndpoint.Parse(text));

        Assert.Equal(RpcStatusCode.InvalidArgument, error.Code);
        Assert.Equal("InvalidEndpoint", error.ErrorId);
        Assert.Contains(part, error.Message);
        Assert.StartsWith($"'{TerminalText.Neutralize(text)}' is not an endpoint", error.Message);
        Assert.False(
            error.Message.Contains(" Did you mean ", StringComparison.Ordinal)
            && error.Message.Contains(", for example, as 'grpc://host:50051'", StringComparison.Ordinal));
        Assert.EndsWith(" See the documentation of RpcEndpoint for all forms.", error.Message);
        Assert.True(error.Message.Length < 300 + text.Length, error.Message);
    }

    [Theory]
    [InlineData(
        "localhost:50051",
        "'grpc://localhost:50051', 'http://localhost:50051' or 'tcp://localhost:50051'")]
    [InlineData("[::1]:80", "'http://[::1]:80', 'grpc://[::1]:80' or 'tcp://[::1]:80'")]
    [InlineData("host:443", "'https://host:443' or 'grpcs://host:443'")]
    [InlineData(
        "localhost", "'grpc://localhost:50051', 'http://localhost:8081/' or 'tcp://localhost:8080'")]
    [InlineData("/run/app.sock", "'grpc+unix:///run/app.sock'")]
    [InlineData(@"\\.\pipe\Shop", "'pipe://./Shop'")]
    [InlineData(@"\\host\pipe\Shop", "'pipe://host/Shop'")]
    [InlineData("https//host/x", "'https://host/x'")]
    [InlineData("ncacn_ip_tcp:host", "'ncacn_ip_tcp:host[8080]'")]
    [InlineData("gprc://localhost:50051", "'grpc://localhost:50051'")]
    [InlineData("htpp://localhost/x", "'http://localhost/x'")]
    [InlineData("grpc:localhost:50051", "'grpc://localhost:50051'")]
    [InlineData("http:/localhost", "'http://localhost'")]
    [InlineData("ncacn_ip_tpc:host[80]", "'ncacn_ip_tcp:host[80]'")]
    [InlineData("ncalprc:[MyService]", "'ncalrpc:[MyService]'")]
    [InlineData("ncacn_ip_tcp:host:8080", "'ncacn_ip_tcp:host[8080]'")]
    [InlineData(@"\\.\pipe\x", "'pipe://./x'")]
    [InlineData(@"\\server\pipe\x.y", "'pipe://server/x.y'")]
    [InlineData(@"\pipe\x", "'pipe://./x'")]
    [InlineData("//./pipe/x", "'pipe://./x'")]
    [InlineData(@"ncacn_np:\\server\pipe\x", "'pipe://server/x'")]
    [InlineData(@"np:\\.\PIPE\x", "'pipe://./x'")]
    [InlineData("/run/shop.sock", "'grpc+unix:///run/shop.sock'")]
    [InlineData("grpc//127.0.0.1:50051", "'grpc://127.0.0.1:50051'")]
    [InlineData("grpc:///127.0.0.1:50051", "'grpc://127.0.0.1:50051'")]
    [InlineData("grpc://127.0.0.1[50051]", "'grpc://127.0.0.1:50051'")]
    [InlineData("grpc+unix:/tmp/x.sock", "'grpc+unix:///tmp/x.sock'")]
    [InlineData("grpc+unix://tmp/x.sock", "'grpc+unix:///tmp/x.sock'")]
    [InlineData("ncalrpc:foo", "'ncalrpc:[foo]'")]
    [InlineData("ncalrpc:[foo", "'ncalrpc:[foo]'")]
    [InlineData("ncalrpc://foo", "'ncalrpc:[foo]'")]
    [InlineData("ncacn_np:foo", @"'ncacn_np:[\pipe\foo]'")]
    [InlineData("ncacn_np:[foo]", @"'ncacn_np:[\pipe\foo]'")]
    [InlineData("ncacn_tcp:127.0.0.1[8080]", "'ncacn_ip_tcp:127.0.0.1[8080]'")]
    [InlineData("ncacn_ip_tcp:127.0.0.1[8080", "'ncacn_ip_tcp:127.0.0.1[8080]'")]
    [InlineData("ncacn_ip_tcp://127.0.0.1:8080", "'ncacn_ip_tcp:127.0.0.1[8080]'")]
    [InlineData("grpc://::1:50051", "'grpc://[::1]:50051'")]
    [InlineData("http://::1:8081/x", "'http://[::1]:8081/x'")]
    [InlineData("::1:50051", "'grpc://[::1]:50051', 'http://[::1]:50051' or 'tcp://[::1]:50051'")]
    [InlineData("pipe://Shop", "'pipe://./Shop'")]
    public static void Says_which_endpoint_may_be_meant(string text, string meant)
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcEndpoint.Parse(text));

        Assert.Contains($" Did you mean {meant}? ", error.Message);
    }

    [Theory]
    [InlineData("shop")]
    [InlineData("ftp://host")]
    [InlineData("a b:80")]
    [InlineData("ncadg_ip_udp:host[135]")]
    [InlineData("grpc://localhost")]
    [InlineData("GRPC://localhost")]
    public static void Suggests_no_endpoint_if_none_is_near(string text)
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcEndpoint.Parse(text));

        Assert.DoesNotContain("Did you mean", error.Message);
    }

    [Theory]
    [InlineData("grpc://localhost", "the port is missing, as in 'grpc://localhost:50051'")]
    [InlineData("tcp://[::1]", "the port is missing, as in 'tcp://[::1]:8080'")]
    [InlineData("tcp://", "the port is missing, as in 'tcp://host:8080'")]
    public static void Shows_where_a_missing_port_belongs(string text, string part)
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcEndpoint.Parse(text));

        Assert.Contains(part, error.Message);
    }

    [Theory]
    [InlineData("tcp://host:8080", "ncacn_ip_tcp:HOST[8080]")]
    [InlineData("pipe://./a", @"ncacn_np:[\pipe\A]")]
    [InlineData("pipe://locAlhost/a", @"ncacn_np:LOCALHOST[\pipe\a]")]
    [InlineData("pipe://LocalHost/a", "pipe://./a")]
    [InlineData("local://a", "ncalrpc:[A]")]
    [InlineData("lrpc://a", "ncalrpc:[A,transport=lrpc]")]
    public static void Both_syntaxes_of_one_place_are_equal(string one, string other)
    {
        RpcEndpoint left = RpcEndpoint.Parse(one);
        RpcEndpoint right = RpcEndpoint.Parse(other);

        Assert.Equal(left, right);
        Assert.Equal(left.GetHashCode(), right.GetHashCode());
    }

    [Fact]
    public static void Queries_are_equal_only_with_their_case() =>
        Assert.NotEqual(RpcEndpoint.Parse("http://host/?key=A"), RpcEndpoint.Parse("http://host/?key=a"));

    [Fact]
    public static void A_pipe_of_this_machine_by_its_name_is_a_pipe_here_in_both_syntaxes()
    {
        string name = Environment.MachineName.ToUpperInvariant();

        Assert.Equal("", RpcEndpoint.Parse($@"ncacn_np:{name}[\pipe\a]").Host);
        Assert.Equal("", RpcEndpoint.Parse($"pipe://{name}/a").Host);
    }

    [Theory]
    [InlineData("ncacn_ip_tcp:host[8080]")]
    [InlineData("ncacn_ip_tcp:::1[8080]")]
    [InlineData(@"ncacn_np:[\pipe\a]")]
    [InlineData(@"ncacn_np:server[\pipe\a]")]
    [InlineData("ncalrpc:[a]")]
    [InlineData("http://host:81/x")]
    [InlineData("http://host:81/x?y=Z&z=a/b")]
    [InlineData("grpc://[::1]:1")]
    [InlineData("grpc+unix:///a")]
    public static void Its_text_and_its_uri_read_back_as_the_same(string text)
    {
        RpcEndpoint endpoint = RpcEndpoint.Parse(text);

        Assert.Equal(endpoint, RpcEndpoint.Parse(endpoint.ToString()));
        Assert.Equal(endpoint, RpcEndpoint.Parse(endpoint.Uri));
    }

    [Fact]
    public static void A_name_over_the_limit_is_refused()
    {
        string name = new('a', RpcEndpoint.MaxNameLength + 1);

        RpcException error = Assert.Throws<RpcException>(() => RpcEndpoint.Local(name));

        Assert.Contains("longer than 64", error.Message);
    }

    [Fact]
    public static void What_is_cut_at_any_place_is_an_endpoint_or_an_error()
    {
        string[] texts =
        [
            .. EndpointKinds.All.Select(kind => kind.ExampleUri("[::1]")),
            .. EndpointKinds.All.Where(kind => kind.Sequence.Length > 0)
                .Select(kind => kind.ExampleBinding("[::1]")),
            "dns://1.1.1.1/host:1", "ipv6:[::1]:1", "ipv4:1.2.3.4:5,6.7.8.9:10", "unix-abstract:a",
            @"\\host\pipe\a",
        ];
        foreach (string text in texts)
        {
            for (int cut = 0; cut <= text.Length; cut++)
            {
                string start = text[..cut];
                foreach (string part in (string[])[start, text[cut..], $"{start}:", $"{start}["])
                {
                    if (!RpcEndpoint.TryParse(part, out _))
                    {
                        RpcException error = Assert.Throws<RpcException>(() => RpcEndpoint.Parse(part));
                        Assert.Equal("InvalidEndpoint", error.ErrorId);
                    }
                }
            }
        }
    }

    [Fact]
    public static void Tries_to_read_without_throwing()
    {
        Assert.True(RpcEndpoint.TryParse(" tcp://host:80 ", out RpcEndpoint? endpoint));
        Assert.Equal(RpcEndpoint.Tcp("host", 80), endpoint);
        Assert.False(RpcEndpoint.TryParse("tcp://host", out RpcEndpoint? none));
        Assert.Null(none);
        Assert.False(RpcEndpoint.TryParse(null, out _));
    }

    [Fact]
    public static void Is_parsable_for_binders_and_generic_code()
    {
        Assert.Equal(RpcEndpoint.Local("a"), Parsed<RpcEndpoint>("ncalrpc:[a]"));
        Assert.Equal(RpcEndpoint.Local("a"), Spanned<RpcEndpoint>("xlocal://ax".AsSpan(1, 9)));
        Assert.Equal("InvalidEndpoint", Assert.Throws<RpcException>(() => Parsed<RpcEndpoint>("a")).ErrorId);
    }

    private static T Parsed<T>(string text)
        where T : IParsable<T>
    {
        bool read = T.TryParse(text, null, out T? tried);
        T parsed = T.Parse(text, null);
        Assert.True(read);
        Assert.Equal(parsed, tried);
        return parsed;
    }

    private static T Spanned<T>(ReadOnlySpan<char> text)
        where T : ISpanParsable<T>
    {
        Assert.True(T.TryParse(text, null, out T? tried));
        Assert.Equal(T.Parse(text, null), tried);
        return tried;
    }
}
