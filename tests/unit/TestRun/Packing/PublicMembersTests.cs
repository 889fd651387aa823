using System.Xml.Linq;
using ProtoRpc.TestRun.Packing;

namespace ProtoRpc.Tests.TestRun.Packing;

public static class PublicMembersTests
{
    private const string Name = "ProtoRpc.Tests.TestRun.Packing.DocumentedSample";
    private const string Here = Name + "`1";
    private const string Lists = "System.Collections.Generic.List{System.Collections.Generic.List{``0}}";

    private static readonly string Assembly = typeof(PublicMembersTests).Assembly.Location;

    private static readonly IReadOnlySet<string> Ids = PublicMembers.Of(Assembly);

    [Theory]
    [InlineData("T:" + Here)]
    [InlineData("T:" + Here + ".Inner`1")]
    [InlineData("M:" + Here + ".#ctor(`0[],System.Int32[0:,0:])")]
    [InlineData("M:" + Here + ".Map``1(" + Lists + ",System.Int32@)")]
    [InlineData("M:" + Here + ".Pointer(System.Byte*)")]
    [InlineData("M:" + Here + ".op_Implicit(" + Name + "{`0})~System.String")]
    [InlineData("M:" + Here + ".Use(" + Name + "{`0}.Inner{System.Nullable{System.Int32}})")]
    [InlineData("P:" + Here + ".Item(System.String)")]
    [InlineData("P:" + Here + ".HalfOpen")]
    [InlineData("F:" + Here + ".Constant")]
    [InlineData("E:" + Here + ".Happened")]
    public static void Has_what_other_assemblies_can_use(string id) => Assert.Contains(id, Ids);

    [Theory]
    [InlineData("F:" + Here + ".Hidden")]
    [InlineData("M:" + Here + ".Internal")]
    [InlineData("T:" + Here + ".Secret")]
    [InlineData("P:" + Here + ".Secret.Value")]
    public static void Leaves_out_what_they_cannot_use(string id) => Assert.DoesNotContain(id, Ids);

    [Fact]
    public static void Of_a_library_only_public_types_stay_documented()
    {
        string library = typeof(RpcClient).Assembly.Location;
        string file = Path.Combine(Directory.CreateTempSubdirectory("protorpc-").FullName, "ProtoRpc.xml");
        try
        {
            File.Copy(Path.ChangeExtension(library, ".xml"), file);
            int all = Names(file).Length;

            PublicDocumentation.Keep(file, library);

            string[] kept = Names(file);
            Assert.InRange(kept.Length, 100, all - 100);
            Assert.Contains("M:ProtoRpc.RpcClient.Connect(ProtoRpc.RpcEndpoint,ProtoRpc.RpcSchema,"
                + "ProtoRpc.RpcClientOptions,System.Threading.CancellationToken)", kept);
            Assert.All(kept.Where(name => name[0] == 'T'), name => Assert.True(
                typeof(RpcClient).Assembly.GetType(name[2..]) is { IsVisible: true }, name));
        }
        finally
        {
            Directory.Delete(Path.GetDirectoryName(file)!, recursive: true);
        }
    }

    private static string[] Names(string file) =>
        [.. XDocument.Load(file).Descendants("member").Select(member => member.Attribute("name")!.Value)];
}
