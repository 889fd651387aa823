using ProtoRpc.Client;

namespace ProtoRpc.Tests.Shared;

/// <summary>Names of servers as other gRPC clients write them: doc/naming.md of gRPC.</summary>
public static class GrpcNameTests
{
    [Theory]
    [InlineData("dns:///host:50051", "grpcs://host:50051")]
    [InlineData("dns:///host", "grpcs://host:443")]
    [InlineData("dns:host:50051", "grpcs://host:50051")]
    [InlineData("dns:host", "grpcs://host:443")]
    [InlineData("dns:/host:1", "grpcs://host:1")]
    [InlineData("DNS:///Host:50051", "grpcs://Host:50051")]
    [InlineData("dns:///[::1]:50051", "grpcs://[::1]:50051")]
    [InlineData("dns:///10.0.0.1:50051", "grpcs://10.0.0.1:50051")]
    [InlineData(" dns:///host ", "grpcs://host:443")]
    [InlineData("ipv4:10.0.0.1:50051", "grpcs://10.0.0.1:50051")]
    [InlineData("ipv4:10.0.0.1", "grpcs://10.0.0.1:443")]
    [InlineData("ipv4:///10.0.0.1:50051", "grpcs://10.0.0.1:50051")]
    [InlineData("ipv4:10.0.0.1:50051,10.0.0.2", "grpcs://10.0.0.1:50051,10.0.0.2:443")]
    [InlineData("ipv6:[::1]:50051", "grpcs://[::1]:50051")]
    [InlineData("ipv6:::1", "grpcs://[::1]:443")]
    [InlineData("ipv6:[2001:db8::1]:1,2001:db8::2", "grpcs://[2001:db8::1]:1,[2001:db8::2]:443")]
    [InlineData("unix:///run/app.sock", "grpc+unix:///run/app.sock")]
    [InlineData("unix:/run/app.sock", "grpc+unix:///run/app.sock")]
    [InlineData("unix:///run/my%20app.sock", "grpc+unix:///run/my app.sock")]
    [InlineData("unix:C:/run/app.sock", "grpc+unix:///C:/run/app.sock")]
    [InlineData("unix:///C:/run/app.sock", "grpc+unix:///C:/run/app.sock")]
    [InlineData("unix-abstract:app", "grpc+unix://@app")]
    [InlineData("unix-abstract:/app", "grpc+unix://@/app")]
    [InlineData("unix-abstract:///app", "grpc+unix://@/app")]
    [InlineData("unix-abstract:a%20b", "grpc+unix://@a b")]
    public static void A_name_of_gRPC_is_an_endpoint(string name, string meant)
    {
        RpcEndpoint endpoint = RpcEndpoint.Parse(name);

        Assert.Equal(meant, endpoint.ToString());
        Assert.Equal(meant, endpoint.Uri);
        Assert.Equal(endpoint, RpcEndpoint.Parse(meant));
        Assert.True(endpoint.IsGrpc);
        Assert.True(RpcEndpoint.TryParse(name, out RpcEndpoint? tried));
        Assert.Equal(endpoint, tried);
    }

    [Theory]
    [InlineData("dns:", "the host is missing")]
    [InlineData("dns:///", "the host is missing")]
    [InlineData("dns:///:443", "the host is missing")]
    [InlineData("dns:50051", "'50051' is not a host")]
    [InlineData("dns:///host:port", "'port' is not a port number")]
    [InlineData("dns:///host:65536", "not in 0..65535")]
    [InlineData("dns:///a,b", "'a,b' is neither a host name")]
    [InlineData("dns:///host:1/path", "'/path' after the port is not understood")]
    [InlineData("dns:///host?x=1", "'?x=1' after the port is not understood")]
    [InlineData("dns:///user@host", "neither a host name")]
    [InlineData("dns:///[host]:1", "is not an IPv6 address")]
    [InlineData("dns:///ho\u202Est", "neither a host name")]
    [InlineData("dns:///ho%1bst", "neither a host name")]
    [InlineData("ipv4:", "the host is missing")]
    [InlineData("ipv4:1", "'1' is not an IPv4 address")]
    [InlineData("ipv4:10.0.0.1,", "'' is not an IPv4 address")]
    [InlineData("ipv4:10.0.0.256:1", "'10.0.0.256' is not an IPv4 address")]
    [InlineData("ipv4:10.0.0.1:x", "'x' is not a port number")]
    [InlineData("ipv4://a/10.0.0.1", "three slashes or none")]
    [InlineData("ipv6:[::1", "'[::1' is not an IPv6 address")]
    [InlineData("ipv6:[::1]:1,host:1", "'host:1' is not an IPv6 address")]
    [InlineData("unix:", "the socket's path is missing")]
    [InlineData("unix:///", "the socket's path is missing")]
    [InlineData("unix:app.sock", "must be absolute")]
    [InlineData("unix:./app.sock", "must be absolute")]
    [InlineData("unix:///a%1bb", "control character")]
    [InlineData("unix:///a%00b", "control character")]
    [InlineData("unix:///a\u202Eb", "control character")]
    [InlineData("unix-abstract:", "the socket's name is missing")]
    [InlineData("unix-abstract:%00app", "control character")]
    [InlineData("unix-abstract://app", "three slashes or none")]
    [InlineData("vsock:3:50051", "sockets of virtual machines are not supported")]
    [InlineData("xds:///shop", "xDS control plane")]
    [InlineData("google-c2p:///shop", "xDS control plane")]
    [InlineData("etcd:///shop", "by DNS, not by etcd")]
    [InlineData("consul://localhost:8500/shop", "by DNS, not by consul")]
    public static void A_wrong_name_says_what_to_write(string name, string part)
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcEndpoint.Parse(name));

        Assert.Equal(RpcErrorIds.InvalidEndpoint, error.ErrorId);
        Assert.Contains(part, error.Message);
        Assert.DoesNotContain(error.Message, char.IsControl);
        Assert.DoesNotContain(", for example, as", error.Message);
        Assert.True(error.Message.Length < 350 + name.Length, error.Message);
        Assert.False(RpcEndpoint.TryParse(name, out _));
    }

    [Theory]
    [InlineData("dns://host:50051", "dns:///host:50051")]
    [InlineData("dns://8.8.8.8/host:50051", "dns:///host:50051")]
    [InlineData("unix:app/x.sock", "unix:///app/x.sock")]
    [InlineData("unix://run/app.sock", "unix:///run/app.sock")]
    [InlineData("ipv4:localhost:50051", "dns:///localhost:50051")]
    [InlineData("ipv4:[::1]:50051", "ipv6:[::1]:50051")]
    [InlineData("ipv6:10.0.0.1:50051", "ipv4:10.0.0.1:50051")]
    [InlineData("passthrough:///host:50051", "dns:///host:50051")]
    public static void A_near_name_is_suggested(string name, string meant)
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcEndpoint.Parse(name));

        Assert.Contains($" Did you mean '{meant}'? ", error.Message);
    }

    [Theory]
    [InlineData("etcd:2379", "'grpc://etcd:2379'")]
    [InlineData("consul:8500", "'grpc://consul:8500'")]
    public static void A_host_can_have_the_name_of_a_resolver(string text, string meant)
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcEndpoint.Parse(text));

        Assert.Contains($" Did you mean {meant}", error.Message);
    }

    [Theory]
    [InlineData("grpc://a:1,b:2", "a:1 b:2")]
    [InlineData("grpc://a:1,[::1]:2,10.0.0.1:3/api", "a:1/api [::1]:2/api 10.0.0.1:3/api")]
    [InlineData("grpc://a:1", "a:1")]
    public static void An_address_can_have_several_hosts(string text, string servers)
    {
        RpcEndpoint endpoint = RpcEndpoint.Parse(text);

        Assert.Equal(
            servers.Split(' '), endpoint.Servers.Select(server => server.Uri["grpc://".Length..]));
        Assert.Equal("a", endpoint.Host);
        Assert.Equal(1, endpoint.Port);
        Assert.Equal(text, endpoint.ToString());
        Assert.Equal(endpoint, RpcEndpoint.Parse(text.ToUpperInvariant().Replace("/API", "/api")));
        Assert.Equal(endpoint.GetHashCode(), RpcEndpoint.Parse(text).GetHashCode());
    }

    [Theory]
    [InlineData("grpc://a:1,b:2", "grpc://a:1")]
    [InlineData("grpc://a:1,b:2", "grpc://a:1,b:3")]
    [InlineData("grpc://a:1,b:2", "grpc://a:1,b:2,c:3")]
    [InlineData("grpc://a:1,b:2", "grpc://b:2,a:1")]
    [InlineData("grpc://a:1/x", "grpc://a:1/X")]
    [InlineData("grpc://a:1/x", "grpc://a:1")]
    public static void Other_hosts_and_paths_are_other_endpoints(string one, string other) =>
        Assert.NotEqual(RpcEndpoint.Parse(one), RpcEndpoint.Parse(other));

    [Theory]
    [InlineData("grpc://a:1,b", "the port is missing")]
    [InlineData("grpc://a:1,", "the port is missing")]
    [InlineData("grpcs://a,", "the host is missing")]
    [InlineData("grpcs://,a", "the host is missing")]
    [InlineData("grpcs://a,u@b", "give a credential")]
    [InlineData("http://a:1,b:2/", "'1,b:2' is not a port number")]
    [InlineData("tcp://a:1,b:2", "'1,b:2' is not a port number")]
    public static void A_wrong_host_of_several_is_reported(string text, string part)
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcEndpoint.Parse(text));

        Assert.Contains(part, error.Message);
    }

    [Theory]
    [InlineData("grpc://h:1/", "")]
    [InlineData("grpc://h:1//", "")]
    [InlineData("grpc://h:1/api/", "/api")]
    [InlineData("grpcs://h/api/v1", "/api/v1")]
    [InlineData("grpcs://h/a//b", "/a//b")]
    [InlineData("grpc://h:1/\u00FC", "/\u00FC")]
    [InlineData("grpc://h:1/a%2Fb", "/a%2Fb")]
    public static void A_path_stands_before_the_methods(string text, string path)
    {
        RpcEndpoint endpoint = RpcEndpoint.Parse(text);

        Assert.Equal(path, endpoint.Name);
        Assert.Equal(endpoint, RpcEndpoint.Parse(endpoint.ToString()));
        Assert.Equal(path, endpoint.WithPort(2).Name);
        Assert.Equal(path, endpoint.WithHost("other").Name);
    }

    [Theory]
    [InlineData("grpc://h:1/a?x=1", "'?x=1' is a query")]
    [InlineData("grpc://h:1/a#x", "'#x' is a fragment")]
    [InlineData("grpc://h:1/a/../b", "'..' in the path")]
    [InlineData("grpc://h:1/./b", "'.' in the path")]
    [InlineData("grpc://h:1/%2E%2e/b", "'%2E%2e' in the path")]
    [InlineData("grpc://h:1/a\\b", "backslash")]
    [InlineData("grpc://h:1/a\u001Bb", "control character")]
    [InlineData("grpc://h:1/a\u202Eb", "control character")]
    public static void A_path_that_cannot_be_sent_is_refused(string text, string part)
    {
        RpcException error = Assert.Throws<RpcException>(() => RpcEndpoint.Parse(text));

        Assert.Contains(part, error.Message);
        Assert.DoesNotContain(error.Message, char.IsControl);
    }

    [Theory]
    [InlineData("grpc://{0}", "h:1")]
    [InlineData("ipv4:{0}", "10.0.0.1")]
    [InlineData("ipv6:{0}", "::1")]
    public static void A_long_list_ends_at_a_limit(string form, string host)
    {
        string full = string.Format(null, form, string.Join(',', Enumerable.Repeat(host, 64)));
        string tooLong = string.Format(null, form, string.Join(',', Enumerable.Repeat(host, 200_000)));

        RpcException error = Assert.Throws<RpcException>(() => RpcEndpoint.Parse(tooLong));

        Assert.Equal(64, RpcEndpoint.Parse(full).Servers.Count);
        Assert.Contains("it has more than 64", error.Message);
    }

    [Fact]
    public static void Each_form_has_an_example_and_its_beginning()
    {
        Assert.Equal(GrpcNameSyntax.Prefixes.Count, GrpcNameSyntax.Examples.Count);
        Assert.All(GrpcNameSyntax.Examples.Zip(GrpcNameSyntax.Prefixes), pair =>
        {
            Assert.StartsWith(pair.Second, pair.First.Name);
            Assert.True(GrpcNameSyntax.IsName(pair.First.Name));
            Assert.NotEmpty(pair.First.Hint);
        });
    }

    // Any machine could read what is sent to one of the servers.
    [Theory]
    [InlineData("grpc://127.0.0.1:1,localhost:2", true)]
    [InlineData("grpc://127.0.0.1:1,other:2", false)]
    [InlineData("grpcs://a:1,b:2", true)]
    public static void Secrets_are_sent_only_where_all_servers_may_have_them(string text, bool isPrivate) =>
        Assert.Equal(isPrivate, ClientAuthorization.IsPrivate(RpcEndpoint.Parse(text)));

    [Fact]
    public static void A_token_is_not_sent_to_a_list_with_a_server_elsewhere()
    {
        RpcClientOptions options = new()
        {
            Lazy = true,
            Security = new() { Authentication = RpcClientAuthentication.Bearer, Token = "t" },
        };

        Assert.Throws<RpcException>(
            () => RpcClient.Connect("grpc://127.0.0.1:1,other.example:2", options));
        RpcClient.Connect("grpc://127.0.0.1:1,localhost:2", options).Dispose();
    }
}
