using Google.Protobuf;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Tests.Protocols.Native;

public static class ExceptionInfoCodecTests
{
    [Fact]
    public static void No_detail_is_an_empty_message()
    {
        RpcExceptionInfo info = ExceptionInfoCodec.Encode(
            new InvalidOperationException("secret"), RpcErrorDetail.None);

        Assert.Equal(0, info.CalculateSize());
    }

    [Fact]
    public static void The_type_of_a_core_exception_is_named_as_dotnet_framework_peers_know_it()
    {
        RpcExceptionInfo info = ExceptionInfoCodec.Encode(
            new InvalidOperationException("secret"), RpcErrorDetail.Type);

        Assert.Equal("System.InvalidOperationException", info.FullTypeName);
        Assert.Equal(
            "mscorlib, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089", info.AssemblyName);
        Assert.False(info.HasMessage);
        Assert.False(info.HasStackTraceString);
    }

    [Fact]
    public static void The_message_level_tells_no_stack()
    {
        RpcExceptionInfo info = ExceptionInfoCodec.Encode(Thrown(), RpcErrorDetail.Message);

        Assert.Equal("outer", info.Message);
        Assert.False(info.HasStackTraceString);
        Assert.Null(info.InnerException);
        Assert.False(info.HasHasFullDetails);
    }

    [Fact]
    public static void Everything_comes_back_at_the_full_level()
    {
        Exception error = Thrown();
        error.Data["Disk"] = "C:";
        error.Data["Count"] = 7;
        error.Data["Odd"] = new object();
        RpcExceptionInfo info = RpcExceptionInfo.Parser.ParseFrom(
            ExceptionInfoCodec.Encode(error, RpcErrorDetail.Full).ToByteArray());

        RpcRemoteException remote = ExceptionInfoCodec.Decode(info);

        Assert.True(info.HasFullDetails);
        Assert.Equal("System.InvalidOperationException", remote.TypeName);
        Assert.Equal("outer", remote.Message);
        Assert.Equal(error.HResult, remote.HResult);
        Assert.Contains(nameof(Thrown), remote.StackTrace);
        Assert.Equal("inner", remote.Inner?.Message);
        Assert.Equal("C:", remote.Data["Disk"]);
        Assert.Equal("7", remote.Data["Count"]);
        Assert.Equal("", remote.Data["Odd"]);
    }

    [Fact]
    public static void Members_of_the_type_are_told_as_its_serialization_constructor_wants_them()
    {
        RpcExceptionInfo argument = ExceptionInfoCodec.Encode(
            new ArgumentException("no such order", "order"), RpcErrorDetail.Full);
        RpcExceptionInfo method = ExceptionInfoCodec.Encode(
            new MissingMethodException("no"), RpcErrorDetail.Full);

        Assert.Equal("order", ExceptionInfoCodec.Decode(argument).Data["ParamName"]);
        Assert.Equal(
            ["MMClassName", "MMMemberName", "MMSignature"],
            method.ExceptionData.Select(data => data.Member).Order());
        Assert.All(method.ExceptionData, data => Assert.Equal("System.Object", data.Type));
    }

    // What the original's server sends for the same exceptions,
    // whose client adds the parameter's name itself.
    public static TheoryData<Exception, string?> MessageMembers() => new()
    {
        { new ArgumentNullException("order", "Must be there."), "Must be there." },
        { new ArgumentException("Wrong.", "order"), "Wrong." },
        { new ArgumentOutOfRangeException("order", 7, "Too large."), "Too large." },
        { new ObjectDisposedException("Stream", "Closed."), "Closed." },
        { new AggregateException("Many.", new IOException("one")), "Many." },
        { new Exception(), null },
    };

    [Theory]
    [MemberData(nameof(MessageMembers))]
    public static void The_message_is_the_serialized_member_and_ours_read_the_property(
        Exception error, string? member)
    {
        RpcExceptionInfo info = ExceptionInfoCodec.Encode(error, RpcErrorDetail.Full);

        Assert.Equal(member is not null, info.HasMessage);
        Assert.Equal(member ?? "", info.Message);
        Assert.Equal(error.Message, ExceptionInfoCodec.Decode(info).Message);
    }

    [Theory]
    [InlineData(typeof(InvalidOperationException), "mscorlib")]
    [InlineData(typeof(InvalidDataException), "System")]
    [InlineData(typeof(System.Net.Sockets.SocketException), "System")]
    [InlineData(typeof(System.ComponentModel.Win32Exception), "System")]
    [InlineData(typeof(System.Net.WebException), "System")]
    [InlineData(typeof(UriFormatException), "System")]
    [InlineData(typeof(System.Xml.XmlException), "System.Xml")]
    public static void A_type_is_in_the_assembly_where_dotnet_framework_has_it(Type type, string assembly)
    {
        Exception error = (Exception)Activator.CreateInstance(type)!;

        RpcExceptionInfo info = ExceptionInfoCodec.Encode(error, RpcErrorDetail.Type);

        Assert.StartsWith(
            $"{assembly}, Version=4.0.0.0, Culture=neutral, PublicKeyToken=", info.AssemblyName);
    }

    [Fact]
    public static void Keys_of_data_never_have_the_name_of_a_member()
    {
        ArgumentException error = new("Wrong.", "order");
        error.Data["Message"] = "other";
        error.Data["ParamName"] = "another";
        error.Data["Data"] = "data";
        error.Data[1] = "number";
        error.Data["1"] = "text";

        RpcExceptionInfo info = ExceptionInfoCodec.Encode(error, RpcErrorDetail.Full);
        RpcRemoteException remote = ExceptionInfoCodec.Decode(info);

        Assert.Equal(
            ["1", "Data[1]", "Data[Data]", "Data[Message]", "Data[ParamName]", "ParamName"],
            info.ExceptionData.Select(data => data.Member).Order(StringComparer.Ordinal));
        Assert.Equal("Wrong. (Parameter 'order')", remote.Message);
        Assert.Equal("other", remote.Data["Message"]);
        Assert.Equal("order", remote.Data["ParamName"]);
        Assert.Equal("another", remote.Data["Data[ParamName]"]);
    }

    [Fact]
    public static void Members_that_the_originals_servers_send_for_every_exception_are_no_data()
    {
        RpcExceptionInfo info = new() { Message = "x" };
        info.ExceptionData.Add(
            new RpcExceptionInfo.Types.RpcExceptionData { Member = "Data", Type = "System.Object" });
        info.ExceptionData.Add(
            new RpcExceptionInfo.Types.RpcExceptionData { Member = "WatsonBuckets", Type = "System.Object" });
        info.ExceptionData.Add(new RpcExceptionInfo.Types.RpcExceptionData
        {
            Member = "ParamName",
            Type = "System.String",
            Value = "order",
        });

        Assert.Equal(["ParamName"], ExceptionInfoCodec.Decode(info).Data.Keys);
    }

    [Fact]
    public static void A_type_that_does_not_serialize_is_told_by_what_all_have()
    {
        RpcExceptionInfo info = ExceptionInfoCodec.Encode(new Unserializable(), RpcErrorDetail.Full);

        Assert.Equal("not today", info.Message);
        Assert.True(info.HasFullDetails);
        Assert.Empty(info.ExceptionData);
    }

    [Fact]
    public static void A_chain_of_inner_exceptions_is_cut_before_it_hurts()
    {
        Exception error = new("innermost");
        for (int i = 0; i < 500; i++)
        {
            error = new InvalidOperationException("level", error);
        }

        int levels = 0;
        RpcExceptionInfo info = ExceptionInfoCodec.Encode(error, RpcErrorDetail.Full);
        for (RpcRemoteException? at = ExceptionInfoCodec.Decode(info); at is not null; at = at.Inner)
        {
            levels++;
        }

        Assert.Equal(33, levels);
    }

    [Theory]
    [InlineData("System.MissingMethodException", RpcStatusCode.Unimplemented)]
    [InlineData("System.UnauthorizedAccessException", RpcStatusCode.PermissionDenied)]
    [InlineData("Whatever.Exception", RpcStatusCode.Unknown)]
    public static void An_exception_without_a_status_gets_one_by_its_type(
        string type, RpcStatusCode expected) =>
        Assert.Equal(expected, ExceptionInfoCodec.StatusOf(new RpcExceptionInfo { FullTypeName = type }));

#pragma warning disable CS0672, SYSLIB0051
    private sealed class Unserializable() : Exception("not today")
    {
        public override void GetObjectData(
            System.Runtime.Serialization.SerializationInfo info,
            System.Runtime.Serialization.StreamingContext context) =>
            throw new NotSupportedException();
    }
#pragma warning restore CS0672, SYSLIB0051

    private static InvalidOperationException Thrown()
    {
        try
        {
            throw new InvalidOperationException("outer", new ArgumentException("inner"));
        }
        catch (InvalidOperationException e)
        {
            return e;
        }
    }
}
