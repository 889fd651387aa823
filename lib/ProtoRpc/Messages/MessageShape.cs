namespace ProtoRpc.Messages;

/// <summary>What the stores of a layout's messages are like.</summary>
internal abstract class MessageShape
{
    private const int MaxSlots = 8;

    private static readonly MessageShape?[] Known = new MessageShape?[(MaxSlots + 1) * (MaxSlots + 1)];

    /// <summary>Whether the values lie in arrays, and not in the store.</summary>
    public virtual bool IsWide => false;

    /// <summary>Where the scalars lie in a store.</summary>
    public nint ScalarOffset { get; protected init; }

    /// <summary>Where the references lie in a store.</summary>
    public nint ReferenceOffset { get; protected init; }

    /// <summary>Makes an empty store.</summary>
    public abstract MessageStore New(MessageLayout layout);

    /// <summary>The shape of stores for so many values; null for none.</summary>
    public static MessageShape? Of(int scalars, int references)
    {
        if (scalars <= 0 && references == 0)
        {
            return null;
        }
        if (scalars > MaxSlots || references > MaxSlots)
        {
            return new MessageStore.Wide.Shape();
        }
        int rest = Math.Max(scalars, 0);
        return Known[(rest * (MaxSlots + 1)) + references] ??= OfScalars(rest, references);
    }

    private static MessageShape OfScalars(int scalars, int references) => scalars switch
    {
        0 => OfReferences(references),
        1 => OfBoth<Scalars1>(references),
        2 => OfBoth<Scalars2>(references),
        3 => OfBoth<Scalars3>(references),
        4 => OfBoth<Scalars4>(references),
        5 => OfBoth<Scalars5>(references),
        6 => OfBoth<Scalars6>(references),
        7 => OfBoth<Scalars7>(references),
        _ => OfBoth<Scalars8>(references),
    };

    private static MessageShape OfReferences(int references) => references switch
    {
        1 => new MessageStore.OfReferences<References1>.Shape(),
        2 => new MessageStore.OfReferences<References2>.Shape(),
        3 => new MessageStore.OfReferences<References3>.Shape(),
        4 => new MessageStore.OfReferences<References4>.Shape(),
        5 => new MessageStore.OfReferences<References5>.Shape(),
        6 => new MessageStore.OfReferences<References6>.Shape(),
        7 => new MessageStore.OfReferences<References7>.Shape(),
        _ => new MessageStore.OfReferences<References8>.Shape(),
    };

    private static MessageShape OfBoth<TScalars>(int references)
        where TScalars : struct => references switch
        {
            0 => new MessageStore.OfBoth<TScalars, NoSlots>.Shape(),
            1 => new MessageStore.OfBoth<TScalars, References1>.Shape(),
            2 => new MessageStore.OfBoth<TScalars, References2>.Shape(),
            3 => new MessageStore.OfBoth<TScalars, References3>.Shape(),
            4 => new MessageStore.OfBoth<TScalars, References4>.Shape(),
            5 => new MessageStore.OfBoth<TScalars, References5>.Shape(),
            6 => new MessageStore.OfBoth<TScalars, References6>.Shape(),
            7 => new MessageStore.OfBoth<TScalars, References7>.Shape(),
            _ => new MessageStore.OfBoth<TScalars, References8>.Shape(),
        };
}
