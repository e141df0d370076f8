/** Sentences to speak and to hear: everyday words, without figures and names that can be written in several ways. */
export const SENTENCES = `The garden behind the house was full of yellow flowers.
My brother repairs old radios in a small workshop.
Please close the window before you leave the room.
The children were playing football in the park all afternoon.
She found a silver coin under the kitchen table.
Our neighbors are moving to another city next month.
The doctor asked me how long I had felt the pain.
A heavy storm damaged the roof of the school.
He always drinks a glass of water before breakfast.
The museum opens at nine and closes at five.
They built a wooden bridge across the narrow river.
I would like to book a table for four people.
The teacher wrote the answer on the board.
It takes about an hour to drive to the airport.
We watched the sunset from the top of the hill.
The cat slept on the warm stones near the fire.
You should never open an email from a stranger.
The company sold twice as many bicycles as last year.
Her grandfather taught her how to catch fish.
The bread smells wonderful when it comes out of the oven.
Nobody knew who had left the door open.
The train was late because of snow on the tracks.
I forgot to bring my umbrella, and now it is raining.
The farmer counted his sheep every evening.
This recipe needs two eggs and a cup of flour.
The bank is on the corner, next to the post office.
He spoke so quietly that we could hardly hear him.
The old clock in the hall stopped many years ago.
Learning a new language takes patience and practice.
The lawyer read the contract very carefully.
A small boat was waiting for us in the harbor.
The hotel has a swimming pool and a large garden.
We need to buy milk, butter and some fresh fruit.
The scientist explained the experiment in simple words.
Most birds fly south before the winter begins.
She wore a blue dress and a pair of black shoes.
The police found the stolen car in a forest.
I have never seen such a beautiful painting.
The meeting was moved from Monday to Thursday.
Turn left at the church and walk to the end of the street.
The baby laughed when the dog licked her hand.
Without the map we would have lost our way.
The soup is too hot, so let it cool for a while.
Many people work from home two days a week.
The nurse gave him medicine for his fever.
An honest mistake is easier to forgive than a lie.
The library has thousands of books about history.
Our flight leaves early in the morning.
The river froze during the coldest night of the year.
He planted an apple tree when his daughter was born.
The phone rang three times before she answered.
We could see the lights of the village in the distance.
The orchestra played for more than two hours.
Cover the pot and cook the rice over low heat.
The bridge is closed to trucks until further notice.
She keeps all her letters in a wooden box.
The price of coffee has gone up again.
My aunt grows tomatoes on her balcony.
The lion slept in the shade of a tall tree.
Please write your name at the top of the page.
The workers painted the walls of the office white.
A good night of sleep helps you to remember.
The island can only be reached by boat.
He lost his keys somewhere between the station and his house.
The wind blew the papers off the desk.
Our cousins live on a farm near the mountains.
The new hospital will open in the spring.
She answered every question without looking at her notes.
The fire spread quickly through the dry grass.
Do you know where I can buy a ticket?
The students are preparing for their final exams.
A thick fog covered the valley until noon.
The waiter brought the bill and a glass of wine.
We painted the fence green to match the door.
The engine makes a strange noise when it is cold.
Her speech was short, clear and very funny.
The ship carried wood, cotton and iron.
I usually read a few pages before I go to sleep.
The judge listened to both sides of the story.
The mountain road is dangerous in winter.
They served fish with potatoes and green beans.
The moon was bright enough to read by.
Our team lost the game in the last minute.
The carpet in the living room needs to be cleaned.
She has worked as a nurse for ten years.
The package arrived two days earlier than expected.
Wash your hands before you prepare the food.
The village has one shop, one school and two churches.
A friend of mine collects stamps from all over the world.
The water in the lake is clean and very deep.
He took a picture of the bridge at sunrise.
The city plans to plant a thousand trees.
Please do not feed the animals in the zoo.
The actor forgot his words in the middle of the scene.
We waited at the bus stop for half an hour.
The box was too heavy for one person to carry.
Her voice sounded tired on the telephone.
The farmers are hoping for rain this week.
Every spring the swallows return to the old barn.
The last guests left long after midnight.`.split('\n');
