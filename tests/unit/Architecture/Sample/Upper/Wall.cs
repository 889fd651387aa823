using ProtoRpc.Tests.Architecture.Sample.Lower;

namespace ProtoRpc.Tests.Architecture.Sample.Upper;

/// <summary>Names each type of the folder Lower in its own way, but one.</summary>
[BrickOfAttribute(Named = typeof(BrickOfAttributeArgument))]
internal sealed class Wall : BrickOfBase, IBrickOfInterface
{
    private readonly List<BrickOfGenericArgument> _bricks = [];
    private readonly BrickOfField _field = new();

    public static BrickOfResult Build<T>(BrickOfParameter parameter)
        where T : List<BrickOfConstraint>
    {
        try
        {
            BrickOfCall.Call();
            Func<object> later = () => new BrickOfLambda();
            Assert.NotNull(later);
        }
        catch (BrickOfCatch)
        {
        }

        Assert.NotNull(parameter);
        return default;
    }

    public string Text() => $"{typeof(BrickOfTypeof)} {_bricks.Count} {_field}";

    private sealed class Gap
    {
        public BrickOfNestedType? Nested { get; init; }
    }
}
