using ProtoRpc.Client;
using ProtoRpc.Server;

namespace ProtoRpc.Tests.Shared;

public static class EndpointKindsTests
{
    public static TheoryData<RpcTransport> Transports { get; } = [.. Enum.GetValues<RpcTransport>()];

    [Theory]
    [MemberData(nameof(Transports))]
    public static void Examples_of_every_kind_read_back(RpcTransport transport)
    {
        EndpointKindAttribute kind = EndpointKinds.Get(transport);

        RpcEndpoint fromBinding = RpcEndpoint.Parse(kind.ExampleBinding("host"));
        RpcEndpoint fromUri = RpcEndpoint.Parse(kind.ExampleUri("host"));

        Assert.Equal(transport, fromBinding.Transport);
        Assert.Equal(fromBinding, fromUri);
        Assert.Equal(kind.ExampleBinding("host"), fromBinding.ToString());
        Assert.Equal(kind.ExampleUri("host"), fromBinding.Uri);
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public static void A_client_reaches_every_kind_in_one_way(RpcTransport transport)
    {
        EndpointKindAttribute kind = EndpointKinds.Get(transport);

        Assert.Single(RpcChannels.All, channel => channel.Reaches(kind));
    }

    [Theory]
    [MemberData(nameof(Transports))]
    public static void A_server_serves_every_kind_in_one_way_that_needs_no_AspNetCore(RpcTransport transport)
    {
        EndpointKindAttribute kind = EndpointKinds.Get(transport);

        int expected = kind.Has(EndpointFeatures.AspNetCore | EndpointFeatures.ClientOnly) ? 0 : 1;
        Assert.Equal(expected, ServerProtocolAttribute.All.Count(protocol => protocol.Serves(kind)));
    }

    [Fact]
    public static void No_two_kinds_are_written_alike()
    {
        string[] schemes = [.. EndpointKinds.All.Select(kind => kind.Scheme)];
        string[] sequences =
        [
            .. EndpointKinds.All.Where(kind => kind.Sequence.Length > 0)
                .Select(kind => $"{kind.Sequence},{kind.Option}"),
        ];

        Assert.Equal(schemes.Length, schemes.Distinct().Count());
        Assert.Equal(sequences.Length, sequences.Distinct().Count());
    }

    [Theory]
    [InlineData("http", "https")]
    [InlineData("grpc", "grpcs")]
    public static void A_kind_with_TLS_and_the_one_without_know_each_other(string plain, string secure)
    {
        Assert.Equal(secure, EndpointKinds.OfScheme(plain)!.SchemeWith(tls: true));
        Assert.Equal(plain, EndpointKinds.OfScheme(secure)!.SchemeWith(tls: false));
    }

    [Fact]
    public static void The_page_of_endpoints_has_every_form_of_the_table()
    {
        string page = File.ReadAllText(
            Path.Combine(Repository.Root, "docs", "en-US", "about_ProtoRpc_Endpoints.md"));

        Assert.All(EndpointKinds.All, kind => Assert.Contains($"{kind.Scheme}://", page));
    }
}
