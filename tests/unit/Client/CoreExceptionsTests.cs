using ProtoRpc.Client;

namespace ProtoRpc.Tests.Client;

public static class CoreExceptionsTests
{
    public static TheoryData<string> TypeNames => [.. CoreExceptions.TypeNames];

    [Theory]
    [MemberData(nameof(TypeNames))]
    public static void Are_the_ones_that_reflection_makes(string typeName)
    {
        const string text = "Must be there. (Parameter 'order')";

        Exception? made = CoreExceptions.Create(typeName, text);
        Exception? reflected = RemoteExceptionFactory.Create(
            new RpcRemoteException(typeName, "mscorlib", text), RpcExceptionTypes.CoreLibrary);

        Assert.Equal(typeName, made?.GetType().FullName);
        Assert.Equal(text, made?.Message);
        Assert.Equal(made?.GetType(), reflected?.GetType());
        Assert.Equal(made?.HResult, reflected?.HResult);
        Assert.Equal(reflected?.Message, made?.Message);
    }

    [Theory]
    [InlineData("System.String")]
    [InlineData("system.exception")]
    [InlineData("")]
    public static void Others_are_not_made(string typeName) =>
        Assert.Null(CoreExceptions.Create(typeName, "x"));
}
