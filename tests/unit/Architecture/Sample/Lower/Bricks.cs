namespace ProtoRpc.Tests.Architecture.Sample.Lower;

// One type for each way in which a type can name another.
internal class BrickOfBase;

internal interface IBrickOfInterface;

internal enum BrickOfField;

internal delegate void BrickOfParameter();

internal struct BrickOfResult;

internal sealed class BrickOfGenericArgument;

internal sealed class BrickOfConstraint;

internal sealed class BrickOfTypeof;

internal sealed class BrickOfLambda;

internal sealed class BrickOfNestedType;

internal sealed class BrickOfAttributeArgument;

[AttributeUsage(AttributeTargets.All)]
internal sealed class BrickOfAttribute : Attribute
{
    public Type? Named { get; init; }
}

internal sealed class BrickOfCatch : Exception;

internal static class BrickOfCall
{
    public static void Call()
    {
    }
}

// Nothing above names this one.
internal sealed class BrickOfNothing;
