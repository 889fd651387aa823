using System.Globalization;
using Google.Protobuf.WellKnownTypes;

namespace ProtoRpc.Benchmarks.Orders;

/// <summary>Orders with three lines each, the same ones for every format, made anew at each call.</summary>
internal static class SampleOrders
{
    private const int Lines = 3;
    private static readonly DateTime FirstExpiration = new(2012, 1, 1, 0, 0, 0, DateTimeKind.Utc);

    public static ContractOrder[] Contracts(int count)
    {
        ContractOrder[] orders = new ContractOrder[count];
        for (int i = 0; i < count; i++)
        {
            orders[i] = new ContractOrder
            {
                CustomerID = i,
                ShippingAddress1 = Street(i),
                ShippingAddress2 = "Third floor",
                ShippingCity = "Redmond",
                ShippingState = "WA",
                ShippingZip = "98052",
                ShippingCountry = "USA",
                ShipType = "Next day",
                CreditCardType = "Visa",
                CreditCardNumber = "4111111111111111",
                CreditCardExpiration = Expiration(i),
                CreditCardName = "A Customer",
                OrderItems = new ContractLine[Lines],
            };
            for (int line = 0; line < Lines; line++)
            {
                orders[i].OrderItems[line] = new ContractLine { ItemID = Item(i, line), Quantity = line + 1 };
            }
        }

        return orders;
    }

    public static Shop.Orders Messages(int count)
    {
        Shop.Orders orders = new();
        for (int i = 0; i < count; i++)
        {
            Shop.Order order = new()
            {
                CustomerId = i,
                ShippingAddress1 = Street(i),
                ShippingAddress2 = "Third floor",
                ShippingCity = "Redmond",
                ShippingState = "WA",
                ShippingZip = "98052",
                ShippingCountry = "USA",
                ShipType = "Next day",
                CreditCardType = "Visa",
                CreditCardNumber = "4111111111111111",
                CreditCardExpiration = Timestamp.FromDateTime(Expiration(i)),
                CreditCardName = "A Customer",
            };
            for (int line = 0; line < Lines; line++)
            {
                order.OrderItems.Add(new Shop.OrderLine { ItemId = Item(i, line), Quantity = line + 1 });
            }

            orders.Orders_.Add(order);
        }

        return orders;
    }

    private static string Street(int order) =>
        string.Create(CultureInfo.InvariantCulture, $"{order} Main Street");

    private static DateTime Expiration(int order) => FirstExpiration.AddDays(order % 365);

    private static int Item(int order, int line) => (order * 10) + line;
}
